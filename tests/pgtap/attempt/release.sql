-- kernel.release gives a campaign back without a result, at its age.
\ir ../_support/fixture.psql
select plan(31);

select testing.callable_by('kernel.release', 'worker');

-- == what it does =================================================================================

set local session authorization worker_1;
select testing.open();
select testing.clock_passes('5 minutes');
select testing.claim();
select results_eq(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'shutting down') $$,
    $$ values ('ok', false, true, null::text, 'fix', testing.id(), 1::bigint, 'ready',
               null::timestamptz, null::text) $$,
    'kernel.release answers that the campaign is ready again, under the same generation'
);
select row_eq(
    $$ select c.state, c.lease_principal, c.attempt_count, c.failure_count, c.loss_count,
              c.release_count, c.failure_reason, c.next_attempt_at
       from testing.campaign() as c $$,
    row('ready'::text, null::name, 1, 0, 0, 1, null::text, timestamptz '2026-09-01 03:00+00'),
    'kernel.release counts a release, not a failure, and costs the campaign no time'
);
select row_eq(
    $$ select a.ending, a.ended_at, a.reason, a.submitted_at from testing.attempt() as a $$,
    row('released'::text, timestamptz '2026-09-01 03:05+00', 'shutting down'::text,
        null::timestamptz),
    'kernel.release ends the attempt as released'
);
select row_eq(
    $$ select e.transition, e.from_state, e.to_state, e.by_principal, e.holder, e.is_late,
              e.detail
       from testing.event() as e $$,
    row('release'::text, 'leased'::text, 'ready'::text, 'worker_1'::name, 'worker_1'::name,
        false, '{"attempt": 1, "reason": "shutting down"}'::jsonb),
    'kernel.release logs its move'
);

-- == repeated =====================================================================================

select testing.duplicate(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'shutting down') $$,
    'kernel.release repeated is a duplicate and writes nothing'
);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token('another'),
           p_reason => 'shutting down') $$,
    'not_holder', 'kernel.release is no duplicate under another token, even word for word'
);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token(), p_reason => 'shutting down') $$,
    'stale', 'kernel.release is no duplicate under another generation, even word for word'
);
select testing.claim(p_worker => 'worker_2');
select testing.duplicate(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'shutting down') $$,
    'kernel.release repeated is a duplicate while another worker holds the campaign'
);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token()) $$,
    'stale', 'kernel.release answers stale to another reason'
);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'shutting down') $$,
    'stale', 'kernel.release is not repeated by a failure with the same reason'
);

-- == fencing ======================================================================================

select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token()) $$,
    'not_holder', 'kernel.release answers not_holder while another principal holds the campaign'
);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token('worker_2')) $$,
    'not_holder', 'kernel.release answers not_holder also to who knows the holder''s token'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token('another')) $$,
    'not_holder', 'kernel.release answers not_holder to another token of the holder'
);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token('worker_2')) $$,
    'stale', 'kernel.release answers stale once the lease was taken back'
);
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 3, p_token => testing.token('worker_2')) $$,
    'illegal', 'kernel.release answers illegal under a generation that nobody holds'
);
set local session authorization worker_1;
select testing.claim();
select testing.submit();
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 4, p_token => testing.token()) $$,
    'stale', 'kernel.release answers stale once the attempt was submitted'
);

-- The holder itself, in a state that is not for this move.
reset session authorization;
grant fencepost_worker to verifier_2;
select testing.must('admin_1', $$
    select * from kernel.enrol(p_class => 'ship', p_principal => 'verifier_2', p_duty => 'worker')
$$);
select testing.verifying('both', 'ship', 'verifier_2');
set local session authorization verifier_2;
select testing.refused(
    $$ select * from kernel.release(p_class => 'ship', p_campaign_id => testing.id('both', 'ship'),
           p_generation => 2, p_token => testing.token('verifier_2')) $$,
    'illegal', 'kernel.release answers illegal to the holder of a verification'
);
set local session authorization worker_1;

-- == releases beyond the budget ===================================================================

reset session authorization;
select testing.class('tight', '{"release_budget": 2, "loss_budget": 2}');
create function testing.release_again() returns text language plpgsql as $fn$
begin
    return testing.must('worker_1', format(
        'select * from kernel.release(p_class => %L, p_campaign_id => %L, p_generation => %s, '
        'p_token => %L)', 'tight', testing.id('parser', 'tight'),
        testing.generation('parser', 'tight'), testing.token()
    )) ->> 'state';
end
$fn$;
set local session authorization worker_1;
select testing.leased('parser', 'tight');
select is(testing.release_again(), 'ready', 'kernel.release is free the first time');
select testing.claim('parser', 'tight');
select is(testing.release_again(), 'ready', 'kernel.release is free up to release_budget');
select testing.claim('parser', 'tight');
select is(
    testing.release_again(), 'ready',
    'kernel.release beyond release_budget counts as a loss, and one loss is no park'
);
select testing.claim('parser', 'tight');
select is(
    testing.release_again(), 'parked',
    'kernel.release parks the campaign when the losses reach loss_budget'
);
select row_eq(
    $$ select c.parked_for, c.release_count, c.loss_count, c.failure_count
       from testing.campaign('parser', 'tight') as c $$,
    row('loss_budget'::text, 4, 0, 0), 'kernel.release says which budget has run out'
);

-- == who may ======================================================================================

set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
                                    p_token => testing.token()) $$,
    'forbidden', 'kernel.release answers forbidden to a worker of another class, whatever is there'
);

-- == misuse =======================================================================================

set local session authorization worker_1;
select testing.raises(
    format('select * from kernel.release(p_class => %L, p_campaign_id => %L, '
           'p_generation => %L, p_token => %L)', a.class, a.id, a.generation, a.token),
    'KN101', format('argument %s is null', a.missing),
    format('kernel.release wants %s', a.missing)
)
from (values
    (null, 1, 1, testing.token(), 'p_class'),
    ('fix', null, 1, testing.token(), 'p_campaign_id'),
    ('fix', 1, null, testing.token(), 'p_generation'),
    ('fix', 1, 1, null, 'p_token')
) as a (class, id, generation, token, missing);
select testing.raises(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => 1, p_generation => 1,
                                    p_token => testing.token(), p_reason => '') $$,
    'KN102', 'argument p_reason is empty', 'kernel.release takes no empty reason'
);
select testing.raises(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => 1, p_generation => 1,
                                    p_token => testing.token(), p_reason => repeat('r', 4097)) $$,
    'KN103', 'argument p_reason is too long', 'kernel.release takes a reason of up to 4096 bytes'
);
select testing.raises(
    $$ select * from kernel.release(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
                                    p_token => testing.token()) $$,
    'KN108', 'class fix has no campaign -1', 'kernel.release knows its campaigns'
);

reset session authorization;
select finish();
rollback;
