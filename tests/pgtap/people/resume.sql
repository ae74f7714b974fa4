-- kernel.resume lets a paused class go on.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(23);

select testing.callable_by('kernel.resume', 'admin');

select testing.class('solo', '{"loss_budget": 1}');
select testing.verifying('judged');
select testing.leased('held', 'fix', 'worker_2');
select testing.open('waiting');
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
set local session authorization verifier_1;
select testing.refused(testing.judging('{}', 'judged'), 'paused', 'while it was paused');
reset session authorization;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.resume(p_class => 'fix', p_reason => 'they have moved') $$,
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok, with the class'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.at, e.before, e.after
       from testing.config('resume') as e $$,
    row('fix'::text, 'fix'::text, 'admin_1'::name, testing.clock(), '{"is_paused": true}'::jsonb,
        '{"is_paused": false, "reason": "they have moved"}'::jsonb),
    'records who resumed it, and why'
);
select testing.clock_passes('1 minute');
select testing.duplicate(
    $$ select * from kernel.resume(p_class => 'fix') $$, 'repeated is a duplicate'
);
select testing.duplicate(
    $$ select * from kernel.resume(p_class => 'ship') $$, 'as it is where nothing was paused'
);
reset session authorization;
select results_eq(
    $$ select c.class, c.resumed_at from ledger.class as c where c.class in ('fix', 'ship')
       order by c.class $$,
    $$ values ('fix'::text, testing.clock() - interval '1 minute'),
              ('ship', null::timestamptz) $$,
    'it is noted when that was, since terms begin anew'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select is(
    (select c.resumed_at from ledger.class as c where c.class = 'fix'),
    testing.clock() - interval '1 minute', 'a pause leaves that as it is'
);
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
set local session authorization admin_1;
select testing.duplicate(
    $$ select * from kernel.define_class(p_class => 'fix', p_policy => '{"backoff_jitter": 0}') $$,
    'and is no part of the policy: to define the class as it is defined is a duplicate'
);
reset session authorization;

-- == it goes on ===================================================================================

set local session authorization worker_1;
select isnt(kernel.next_due('fix'), null, 'a worker is told again that something is due');
select results_eq(
    $$ select outcome, moved, campaign_id
       from kernel.claim(p_class => 'fix', p_token => testing.token('again')) $$,
    $$ select 'ok'::text, true, testing.id('waiting') $$, 'and claims it'
);
set local session authorization verifier_1;
select results_eq(
    format('select outcome, moved, state from (%s) as j', testing.judging('{}', 'judged')),
    $$ values ('ok'::text, true, 'verified'::text) $$,
    'the acceptance that was refused is repeated and recorded'
);
reset session authorization;

-- Losses count again; a lease that ran out meanwhile and is reaped later is one of these.
select testing.leased('parser', 'solo');
select testing.must('admin_1', testing.call('pause', '{"p_class": "solo"}'));
select testing.clock_passes('15 minutes');
select testing.must('admin_1', testing.call('resume', '{"p_class": "solo"}'));
select testing.must('reaper_1', testing.call('reap', '{"p_class": "solo"}'));
select results_eq(
    $$ select c.state, c.loss_count, c.parked_for from testing.campaign('parser', 'solo') as c $$,
    $$ values ('parked'::text, 1, 'loss_budget'::text) $$, 'losses are counted again'
);

-- == who may, and misuse ==========================================================================

select testing.refused(
    format('select * from kernel.resume(p_class => %L)', c.class), 'forbidden',
    format('is forbidden to a superuser in %s', c.class)
)
from unnest(array['fix', 'no-such-class']) as c (class);
create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    $$ select * from kernel.resume(p_class => 'fix') $$, 'forbidden',
    'and to whose membership is indirect'
);
reset session authorization;

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(c.call, c.code, null, 'wants ' || c.what)
from (values
    ('select * from kernel.resume(p_class => null)', 'KN101', 'a class'),
    ('select * from kernel.resume(p_class => ''Fix'')', 'KN102', 'the name of one'),
    ('select * from kernel.resume(p_class => ''no-such-class'')', 'KN106', 'one that there is'),
    ('select * from kernel.resume(p_class => ''fix'', p_reason => '''')', 'KN102',
     'a reason that says something'),
    (format('select * from kernel.resume(p_class => ''fix'', p_reason => %L)',
            repeat('x', 4097)), 'KN103', 'one of 4096 bytes at most')
) as c (call, code, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.resume(p_class => 'fix') $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
