-- kernel.fail ends an attempt that came to nothing; the campaign waits, or parks.
\ir ../_support/fixture.psql
select plan(41);

select testing.callable_by('kernel.fail', 'worker');

-- == what it does =================================================================================

set local session authorization worker_1;
select testing.leased();
select testing.clock_passes('5 minutes');
select results_eq(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'it does not compile',
           p_approach => 'a new lexer', p_fingerprint => 'patch-1') $$,
    $$ values ('ok', false, true, null::text, 'fix', testing.id(), 1::bigint, 'ready',
               null::timestamptz, null::text) $$,
    'kernel.fail answers that the campaign is ready again, under the same generation'
);
select row_eq(
    $$ select c.state, c.lease_principal, c.attempt_count, c.failure_count, c.loss_count,
              c.release_count, c.failure_reason, c.next_attempt_at, c.parked_for
       from testing.campaign() as c $$,
    row('ready'::text, null::name, 1, 1, 0, 0, 'it does not compile'::text,
        timestamptz '2026-09-01 03:06+00', null::text),
    'kernel.fail counts a failure, keeps the reason and waits backoff_base'
);
select row_eq(
    $$ select a.ending, a.ended_at, a.reason, a.approach, a.fingerprint, a.submitted_at
       from testing.attempt() as a $$,
    row('failed'::text, timestamptz '2026-09-01 03:05+00', 'it does not compile'::text,
        'a new lexer'::text, 'patch-1'::text, null::timestamptz),
    'kernel.fail ends the attempt as failed'
);
select row_eq(
    $$ select e.transition, e.from_state, e.to_state, e.by_principal, e.holder, e.is_late,
              e.next_attempt_at, e.detail
       from testing.event() as e $$,
    row('fail'::text, 'leased'::text, 'ready'::text, 'worker_1'::name, 'worker_1'::name, false,
        timestamptz '2026-09-01 03:06+00',
        '{"attempt": 1, "reason": "it does not compile"}'::jsonb),
    'kernel.fail logs its move, with the next attempt''s time'
);

-- == repeated =====================================================================================

select testing.duplicate(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'it does not compile',
           p_approach => 'a new lexer', p_fingerprint => 'patch-1') $$,
    'kernel.fail repeated is a duplicate and writes nothing'
);
select testing.clock_passes('1 minute');
select testing.claim(p_worker => 'worker_2');
select testing.duplicate(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token(), p_reason => 'it does not compile',
           p_approach => 'a new lexer', p_fingerprint => 'patch-1') $$,
    'kernel.fail repeated is a duplicate while another worker holds the next attempt'
);
select testing.refused(
    format('select * from kernel.fail(p_class => %L, p_campaign_id => testing.id(), '
           'p_generation => 1, p_token => testing.token(), p_reason => %L, p_approach => %L, '
           'p_fingerprint => %L)', 'fix', o.reason, o.approach, o.fingerprint),
    'stale', format('kernel.fail answers stale to another %s', o.what)
)
from (values
    ('it does not link', 'a new lexer', 'patch-1', 'reason'),
    ('it does not compile', null, 'patch-1', 'approach'),
    ('it does not compile', 'a new lexer', null, 'fingerprint')
) as o (reason, approach, fingerprint, what);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 1, p_token => testing.token('another'),
           p_reason => 'it does not compile', p_approach => 'a new lexer',
           p_fingerprint => 'patch-1') $$,
    'stale', 'kernel.fail is no duplicate under another token, even word for word'
);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 3, p_token => testing.token(), p_reason => 'it does not compile',
           p_approach => 'a new lexer', p_fingerprint => 'patch-1') $$,
    'stale', 'kernel.fail is no duplicate under another generation, even word for word'
);
select testing.must('worker_2', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 2, '
    'p_token => %L, p_reason => %L)', 'fix', testing.id(), testing.token('worker_2'), 'neither'
));
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token('worker_2'), p_reason => 'neither') $$,
    'not_holder', 'kernel.fail is no duplicate for another principal, even word for word'
);

-- == fencing ======================================================================================

select testing.clock_passes('2 minutes');
select testing.claim();
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 3, p_token => testing.token('another'), p_reason => 'no') $$,
    'not_holder', 'kernel.fail answers not_holder to another token of the holder'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 3, p_token => testing.token('worker_1'), p_reason => 'no') $$,
    'not_holder', 'kernel.fail answers not_holder to another principal with the holder''s token'
);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 2, p_token => testing.token('worker_2'), p_reason => 'no') $$,
    'stale', 'kernel.fail answers stale to who held the generation before'
);
set local session authorization worker_1;
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 3, p_token => testing.token(), p_reason => 'no') $$,
    'stale', 'kernel.fail answers stale once the lease was taken back'
);
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 4, p_token => testing.token(), p_reason => 'no') $$,
    'illegal', 'kernel.fail answers illegal under a generation that nobody holds'
);
select testing.claim();
select testing.submit(p_fingerprint => 'patch-9');
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => testing.id(),
           p_generation => 5, p_token => testing.token(), p_reason => 'no') $$,
    'stale', 'kernel.fail answers stale once the attempt was submitted'
);
select testing.leased('late');
select testing.clock_passes('1 hour');
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L, p_reason => %L)', 'fix', testing.id('late'), testing.token(), 'slow'
));
select row_eq(
    $$ select e.transition, e.is_late from testing.event('late') as e $$,
    row('fail'::text, true), 'kernel.fail is taken late while nobody else took it, and logged so'
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
    $$ select * from kernel.fail(p_class => 'ship', p_campaign_id => testing.id('both', 'ship'),
           p_generation => 2, p_token => testing.token('verifier_2'), p_reason => 'no') $$,
    'illegal', 'kernel.fail answers illegal to the holder of a verification'
);
set local session authorization worker_1;

-- == waiting and parking ==========================================================================

reset session authorization;
select testing.class('tight', '{
    "attempt_budget": 4, "backoff_base": "1 minute", "backoff_cap": "3 minutes"
}');
create function testing.fail_again() returns interval language plpgsql as $fn$
begin
    perform testing.must('worker_1', format(
        'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => %s, '
        'p_token => %L, p_reason => %L)', 'tight', testing.id('parser', 'tight'),
        testing.generation('parser', 'tight'), testing.token(), 'no'
    ));
    return (testing.campaign('parser', 'tight')).next_attempt_at - testing.clock();
end
$fn$;
set local session authorization worker_1;
select testing.leased('parser', 'tight');
select is(testing.fail_again(), '1 minute', 'kernel.fail waits backoff_base the first time');
select testing.clock_passes('1 minute');
select testing.claim('parser', 'tight');
select is(testing.fail_again(), '2 minutes', 'kernel.fail waits twice as long the second time');
select testing.clock_passes('2 minutes');
select testing.claim('parser', 'tight');
select is(testing.fail_again(), '3 minutes', 'kernel.fail waits no longer than backoff_cap');
select testing.clock_passes('3 minutes');
select testing.claim('parser', 'tight');
select results_eq(
    $$ select outcome, moved, state
       from kernel.fail(p_class => 'tight', p_campaign_id => testing.id('parser', 'tight'),
                        p_generation => 4, p_token => testing.token(), p_reason => 'no more') $$,
    $$ values ('ok', true, 'parked') $$,
    'kernel.fail parks the campaign when attempt_budget has run out'
);
select row_eq(
    $$ select c.state, c.parked_for, c.failure_count, c.closed_at
       from testing.campaign('parser', 'tight') as c $$,
    row('parked'::text, 'attempt_budget'::text, 4, null::timestamptz),
    'kernel.fail says which budget it was; the campaign stays open'
);
select is(
    (testing.event('parser', 'tight')).detail,
    '{"attempt": 4, "reason": "no more", "parked_for": "attempt_budget"}'::jsonb,
    'kernel.fail names the budget in the event too'
);

-- == who may ======================================================================================

set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
                                 p_token => testing.token(), p_reason => 'no') $$,
    'forbidden', 'kernel.fail answers forbidden to a worker of another class, whatever is there'
);

-- == misuse =======================================================================================

set local session authorization worker_1;
select testing.raises(
    format('select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => %L, '
           'p_token => %L, p_reason => %L)', a.class, a.id, a.generation, a.token, a.reason),
    'KN101', format('argument %s is null', a.missing), format('kernel.fail wants %s', a.missing)
)
from (values
    (null, 1, 1, testing.token(), 'no', 'p_class'),
    ('fix', null, 1, testing.token(), 'no', 'p_campaign_id'),
    ('fix', 1, null, testing.token(), 'no', 'p_generation'),
    ('fix', 1, 1, null, 'no', 'p_token'),
    ('fix', 1, 1, testing.token(), null, 'p_reason')
) as a (class, id, generation, token, reason, missing);
select testing.raises(
    format('select * from kernel.fail(p_class => %L, p_campaign_id => 1, p_generation => 1, '
           'p_token => testing.token(), p_reason => %L, p_approach => %L, p_fingerprint => %L)',
           'fix', a.reason, a.approach, a.fingerprint),
    a.code, a.message, format('kernel.fail does not take %s', a.what)
)
from (values
    (E' \t\r\n', null, null, 'KN102', 'argument p_reason is empty', 'a blank reason'),
    (repeat('r', 4097), null, null, 'KN103', 'argument p_reason is too long',
     'a reason of 4097 bytes'),
    ('no', '', null, 'KN102', 'argument p_approach is empty', 'an empty approach'),
    ('no', repeat('a', 4097), null, 'KN103', 'argument p_approach is too long',
     'an approach of 4097 bytes'),
    ('no', null, '', 'KN102', 'argument p_fingerprint is empty', 'an empty fingerprint'),
    ('no', null, repeat('f', 201), 'KN103', 'argument p_fingerprint is too long',
     'a fingerprint of 201 bytes')
) as a (reason, approach, fingerprint, code, message, what);
select testing.raises(
    $$ select * from kernel.fail(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
                                 p_token => testing.token(), p_reason => 'no') $$,
    'KN108', 'class fix has no campaign -1', 'kernel.fail knows its campaigns'
);
select testing.leased('long', 'ship');
select is(
    (select f.outcome
     from kernel.fail(p_class => 'ship', p_campaign_id => testing.id('long', 'ship'),
                      p_generation => 1, p_token => testing.token(),
                      p_reason => repeat('é', 2048),
                      p_approach => repeat('a', 4096), p_fingerprint => repeat('f', 200)) as f),
    'ok', 'kernel.fail takes reason and approach of 4096 bytes, and a fingerprint of 200'
);

reset session authorization;
select finish();
rollback;
