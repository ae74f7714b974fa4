-- ledger.enter stands first in every kernel function: isolation, writability, durability.

-- Every function of the kernel with nulls for its arguments: what is raised is raised before an
-- argument is looked at. Eight functions write nothing and may be called anywhere.
create temporary view every_function as
select p.oid::regproc::text as name,
       format('select * from %s(%s)', p.oid::regproc,
              (select string_agg(format('null::%s', t.type::regtype), ', ')
               from unnest(p.proargtypes) as t (type))) as call
from pg_proc as p
where p.pronamespace = 'kernel'::regnamespace
  and p.proname not in ('api_version', 'check', 'classes', 'exercise_report', 'explain', 'health',
                        'next_due', 'ring');

-- Isolation is chosen before the first query, so it takes transactions of their own; nothing is
-- written in them, and pgTAP's numbering is kept by committing them.
begin isolation level repeatable read;
select plan(169);
select is(
    (select count(*) from pg_temp.every_function), 50::bigint,
    'ledger.enter guards fifty functions of the kernel'
);
select throws_ok(
    f.call, 'KN111', 'the kernel is called under READ COMMITTED only',
    format('%s is not called under REPEATABLE READ', f.name)
) from pg_temp.every_function as f order by f.name;
commit;

begin isolation level serializable;
select throws_ok(
    f.call, 'KN111', 'the kernel is called under READ COMMITTED only',
    format('%s is not called under SERIALIZABLE', f.name)
) from pg_temp.every_function as f order by f.name;
commit;

begin read only;
select throws_ok(
    f.call, 'KN112', 'the kernel is called in a read-write transaction only',
    format('%s is not called in a READ ONLY transaction', f.name)
) from pg_temp.every_function as f order by f.name;
select lives_ok(
    'select kernel.' || f.name, format('kernel.%s may be called in a READ ONLY transaction', f.name)
) from (values ('api_version()'), ('classes()'), ('exercise_report(''fix'')'),
               ('explain(''fix'', 1)'), ('health()'), ('next_due(''fix'')'), ('ring(''fix'')'))
    as f (name);
select throws_ok(
    $$ select kernel.check('fix') $$, 'KN106', 'there is no class fix',
    'kernel.check(''fix'') may be called in a READ ONLY transaction'
);
commit;

\ir ../_support/fixture.psql

-- As principals, with the hint. Read-only can be chosen late; the block that catches undoes it.
select testing.open();
set local session authorization worker_1;
select testing.raises(
    $$ select c.*
       from set_config('transaction_read_only', 'on', true) as s (value)
       cross join lateral kernel.claim(p_class => 'fix',
                                       p_token => md5(s.value)::uuid) as c $$,
    'KN112', 'the kernel is called in a read-write transaction only',
    'kernel.claim tells a worker in a READ ONLY transaction what to do'
);
select is(
    current_setting('transaction_read_only'), 'off', 'ledger.enter''s next tests may write again'
);

-- == durability ===================================================================================

set local synchronous_commit = off;
select testing.claim();
select is(
    current_setting('synchronous_commit'), 'on', 'ledger.enter raises synchronous_commit from off'
);
set local synchronous_commit = local;
select lives_ok(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'kernel.renew is called under synchronous_commit = local'
);
select is(
    current_setting('synchronous_commit'), 'on', 'ledger.enter raises synchronous_commit from local'
);
set local synchronous_commit = remote_write;
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 0, p_token => testing.token()) $$,
    'stale', 'kernel.renew is refused under synchronous_commit = remote_write'
);
select is(
    current_setting('synchronous_commit'), 'on',
    'ledger.enter raises synchronous_commit from remote_write, also where the call is refused'
);
set local synchronous_commit = remote_apply;
select testing.submit();
select is(
    current_setting('synchronous_commit'), 'remote_apply',
    'ledger.enter leaves synchronous_commit alone where it is stronger'
);
set local synchronous_commit = on;
select testing.claim_verification();
select is(
    current_setting('synchronous_commit'), 'on',
    'ledger.enter leaves synchronous_commit alone where it is on'
);

-- First of all: nothing is done before it, whichever function it is.
reset session authorization;
select is_empty(
    $$ select p.oid::regproc
       from pg_proc as p
       where p.pronamespace = 'kernel'::regnamespace
         and p.proname not in ('api_version', 'check', 'classes', 'exercise_report', 'explain',
                               'health', 'next_due', 'ring')
         and p.prosrc !~ '\mbegin\n    perform ledger\.enter\(\);' $$,
    'ledger.enter is the first statement of every function that may write'
);

select finish();
rollback;
