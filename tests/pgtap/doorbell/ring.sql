-- kernel.ring rings the doorbell: a NOTIFY with the class's name, delivered when it commits.
--
-- What it sends is heard before the fixture begins its transaction. It writes nothing: nothing of
-- these calls stays. psql shows what it hears after each statement.
\set file `mktemp`
\o :file
listen fencepost;
select kernel.ring(p_class => 'fix');
select kernel.ring('no-such-class');
begin;
select kernel.ring('twice');
select kernel.ring('twice');
commit;
begin;
select kernel.ring('taken-back');
rollback;
begin read only;
select kernel.ring('read-only');
commit;
select 1;
unlisten fencepost;
\o
\setenv HEARD :file
\set heard `grep -o ' "[^"]*" with payload "[^"]*"' "$HEARD" | tr '"\n' '|;'`
\! rm -f -- "$HEARD"

\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(16);

select testing.callable_by(
    'kernel.ring', 'admin', 'auditor', 'reaper', 'sensor', 'verifier', 'worker'
);

-- == what is heard ================================================================================

select is(
    (select array_agg(h[2] || ' ' || h[4] order by n)
     from string_to_table(:'heard', ';') with ordinality as l (line, n),
          string_to_array(l.line, '|') as h
     where l.line <> ''),
    array['fencepost fix', 'fencepost no-such-class', 'fencepost twice', 'fencepost read-only'],
    'a listener hears the name of the class and nothing else; whatever class was rung, once a '
    'transaction, and only when it commits'
);

-- == what it does not do ==========================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select is(kernel.ring('fix')::text, '', 'returns nothing');
select lives_ok($$ select kernel.ring('elsewhere') $$, 'rings for a class that is not one''s own');
reset session authorization;
select lives_ok($$ select kernel.ring('fix') $$, 'a superuser may ring too');
select is(
    testing.ledger_digest(true), :'before', 'writes nothing to the ledger, no refusal either'
);

-- Ledger functions do not ring: not one of them may notify inside its own transaction.
select is_empty(
    $$ select p.oid::regprocedure
       from pg_proc as p
       where p.pronamespace in ('ledger'::regnamespace, 'kernel'::regnamespace)
         and p.proname <> 'ring'
         and p.prosrc ~* 'notify' and p.prosrc !~* 'pg_notification_queue_usage' $$,
    'no other function notifies'
);

-- == who may, and misuse ==========================================================================

set local session authorization stranger;
select throws_ok(
    $$ select kernel.ring('fix') $$, '42501', null, 'who is of no group may not ring through it'
);
reset session authorization;
set local session authorization sensor_1;
select testing.raises(
    format('select kernel.ring(%L)', c.class), c.code, c.message,
    'does not ring for ' || coalesce(quote_ident(left(c.class, 20)), 'null')
)
from (values
    (null, 'KN101', 'argument p_class is null'),
    ('', 'KN102', 'p_class is not the name of a class'),
    ('Fix', 'KN102', 'p_class is not the name of a class'),
    ('fix it', 'KN102', 'p_class is not the name of a class'),
    (E'fix\n', 'KN102', 'p_class is not the name of a class'),
    (repeat('f', 64), 'KN102', 'p_class is not the name of a class'),
    (repeat('f', 9000), 'KN102', 'p_class is not the name of a class')
) as c (class, code, message);
select lives_ok(
    format('select kernel.ring(%L)', repeat('f', 63)), 'rings for a name of 63 characters'
);
reset session authorization;

select finish();
rollback;
