-- kernel.next_due says how long the caller may sleep, for each of its duties.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(29);

select testing.callable_by(
    'kernel.next_due', 'admin', 'auditor', 'reaper', 'sensor', 'verifier', 'worker'
);

create function pg_temp.due(p_principal name, p_class text default 'fix')
    returns timestamptz
    language sql
as $fn$
    select (testing.act(p_principal,
                        testing.call('next_due', jsonb_build_object('p_class', p_class)))
            ->> 'next_due')::timestamptz
$fn$;

select is(pg_temp.due('worker_1'), null, 'says nothing to a worker where nothing waits');
select is(pg_temp.due('verifier_1'), null, 'nor to a verifier');
select is(pg_temp.due('sensor_1'), null, 'nor to a sensor where there is no target');

-- == work =========================================================================================

select testing.open();
select is(pg_temp.due('worker_1'), '2026-09-01 03:00+00', 'says now to a worker when one is ready');
select is(pg_temp.due('verifier_1'), null, 'which is nothing to a verifier');
select is(pg_temp.due('worker_elsewhere'), null, 'nor to a worker of another class');
select is(pg_temp.due('worker_1', 'ship'), null, 'nor to this one in another class');

select testing.claim();
select is(pg_temp.due('worker_2'), null, 'says nothing while it is leased');
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "nothing helped"}'));
select is(pg_temp.due('worker_2'), '2026-09-01 03:01+00', 'says when it is to be tried again');
select testing.open('younger');
select is(pg_temp.due('worker_2'), '2026-09-01 03:00+00', 'says the earliest of several');
select testing.cancel('younger');

-- == verification and promotion ===================================================================

select testing.clock_passes('1 minute');
select testing.claim();
select testing.submit();
select is(
    pg_temp.due('verifier_1'), '2026-09-01 03:01+00', 'says now to a verifier when one is submitted'
);
select is(pg_temp.due('worker_1'), null, 'which is nothing to a worker');
select testing.claim_verification();
select is(pg_temp.due('verifier_2'), null, 'says nothing while it is being verified');
select testing.judge('unverifiable');
select is(pg_temp.due('verifier_2'), '2026-09-01 03:02+00', 'says when an abstention is over');

select testing.accepted('parser', 'ship');
select is(
    pg_temp.due('verifier_1', 'ship'), '2026-09-01 03:01+00',
    'says now to a verifier when a promotion was left'
);
select is(pg_temp.due('worker_1', 'ship'), null, 'which is nothing to a worker');

select testing.must('admin_1', testing.on_campaign('park'));
select is(pg_temp.due('verifier_2'), null, 'says nothing of what is parked');

-- == a sensor =====================================================================================

select testing.class('seen');
select testing.target_in(
    'parser', 'seen', '{"observe_every": "1 hour", "observe_within": "10 minutes"}'
);
select is(
    pg_temp.due('sensor_1', 'seen'), '2026-09-01 03:16+00', 'says now to a sensor of a new target'
);
select testing.must('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'seen', p_target => 'parser', p_token => testing.token('looking')) $$) ->> 'number'
    as number \gset
select is(
    pg_temp.due('sensor_2', 'seen'), '2026-09-01 03:26+00',
    'says when a slot that was begun is offered again, lest it go unreported'
);
select testing.must('sensor_1', testing.call('report_observation', jsonb_build_object(
    'p_class', 'seen', 'p_target', 'parser', 'p_number', :'number',
    'p_token', testing.token('looking'), 'p_is_green', true)));
select is(
    pg_temp.due('sensor_2', 'seen'), '2026-09-01 04:16+00', 'and the next slot once it was reported'
);
select testing.target_in('lexer', 'seen');
select is(
    pg_temp.due('sensor_2', 'seen'), '2026-09-01 03:16+00', 'says the earliest of several targets'
);

-- == two duties; none =============================================================================

grant fencepost_sensor to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'seen', p_principal => 'worker_1', p_duty => 'sensor') $$);
select testing.must('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'seen', p_target => 'lexer', p_token => testing.token('looking too')) $$);
select testing.open('opened', 'seen');
select testing.clock_passes('5 minutes');
select is(
    pg_temp.due('worker_1', 'seen'), '2026-09-01 03:16+00', 'says the earlier of two duties'
);
select testing.must('admin_1', $$ select * from kernel.dismiss(
    p_class => 'seen', p_principal => 'worker_1', p_duty => 'worker') $$);
select is(
    pg_temp.due('worker_1', 'seen'), '2026-09-01 03:26+00',
    'and nothing of one that it was dismissed from'
);
select is(pg_temp.due('reaper_1', 'seen'), null, 'says nothing to who is not enrolled');
select is(pg_temp.due('worker_1', 'nowhere'), null, 'nor of a class that there is not');
select is_empty('select from ledger.refusal', 'refuses nobody');

set local session authorization worker_1;
select testing.raises(
    $$ select kernel.next_due(p_class => null) $$, 'KN101', 'argument p_class is null',
    'wants a class'
);
select testing.raises(
    $$ select kernel.next_due(p_class => 'A') $$, 'KN102', null, 'wants the name of a class'
);
reset session authorization;

select finish();
rollback;
