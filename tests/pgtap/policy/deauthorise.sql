-- kernel.deauthorise takes an authority away.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(17);

select testing.callable_by('kernel.deauthorise', 'admin');
select testing.authorised('git.push', 'x*', 'fix', 'worker', false, 3);
select testing.authorised('git.push', 'x*', 'fix', 'verifier');
create function testing.taking(p_changes jsonb default '{}')
    returns text
    language sql
as $fn$
    select testing.call('deauthorise', '{"p_class": "fix", "p_duty": "worker",
        "p_kind": "git.push", "p_target": "x*"}'::jsonb || p_changes)
$fn$;
set local session authorization admin_1;
select testing.duplicate(
    testing.taking(c.change), format('what is not there is a duplicate: %s', c.change)
)
from unnest(array['{"p_kind": "git.tag"}', '{"p_target": "x"}', '{"p_class": "ship"}']::jsonb[])
    as c (change);
select results_eq(
    testing.taking(),
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok'
);
select testing.duplicate(testing.taking(), 'repeated it is a duplicate');
reset session authorization;
select results_eq(
    $$ select a.duty from ledger.authority as a where a.kind = 'git.push' $$, array['verifier'],
    'that one is gone, and no other'
);
select results_eq(
    $$ select c.subject, c.by_principal, c.before ->> 'attempt_limit', c.after
       from testing.config('deauthorise') as c $$,
    $$ values ('worker git.push x*'::text, 'admin_1'::name, '3'::text, null::jsonb) $$,
    'which is in the log of the configuration'
);
select testing.refused(testing.taking(), 'forbidden', 'is forbidden to a superuser');
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(testing.taking(m.changes), m.code, m.message, 'wants ' || m.what)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_class": "nowhere"}', 'KN106', null, 'one that there is'),
    ('{"p_duty": null}', 'KN101', 'argument p_duty is null', 'a duty'),
    ('{"p_duty": "reaper"}', 'KN102', null, 'one that does operations'),
    ('{"p_kind": null}', 'KN101', 'argument p_kind is null', 'a kind'),
    ('{"p_target": null}', 'KN101', 'argument p_target is null', 'a target'),
    ('{"p_target": "*x"}', 'KN102', null, 'in its form')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select finish();
rollback;
