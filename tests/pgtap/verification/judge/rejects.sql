-- kernel.judge rejects: the attempt ends, the campaign waits for another one, or parks.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(20);

select testing.class('short', '{"attempt_budget": 3, "backoff_base": "2 minutes"}');
select testing.verifying('parser', 'short');
select testing.clock_passes('1 minute');

set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.judge(
           p_class => 'short', p_campaign_id => testing.id('parser', 'short'), p_generation => 2,
           p_token => testing.token('verifier_1'), p_verdict => 'rejected',
           p_bundle_sha256 => testing.bundle_sha256('parser', 'short'),
           p_fingerprint => 'patch-as-seen', p_command => 'make test', p_exit_code => 2,
           p_reason => 'two tests are red', p_evidence_uri => 'file:///evidence/verdict',
           p_evidence_sha256 => sha256('verdict')) $$,
    $$ values ('ok'::text, false, true, null::text, 'short'::text, testing.id('parser', 'short'),
               2::bigint, 'ready'::text, null::timestamptz, null::text) $$,
    'sends the campaign back to ready'
);
reset session authorization;

select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.failure_count, c.loss_count,
              c.next_attempt_at, c.failure_reason, c.evidence_uri, c.parked_for
       from testing.campaign('parser', 'short') as c $$,
    $$ values ('ready'::text, 2::bigint, null::name, 1, 0, '2026-09-01 03:03+00'::timestamptz,
               'two tests are red'::text, 'file:///evidence/verdict'::text, null::text) $$,
    'counts a failure, keeps its reason, and waits for backoff_base'
);
select results_eq(
    $$ select a.ending, a.ended_at, a.reason from testing.attempt('parser', 'short') as a $$,
    $$ values ('rejected'::text, '2026-09-01 03:01+00'::timestamptz, 'two tests are red'::text) $$,
    'ends the attempt as rejected, with the reason for those that follow'
);
select results_eq(
    $$ select v.verdict, v.attempt_no, v.principal, v.fingerprint, v.exit_code, v.reason
       from testing.verdict('parser', 'short') as v $$,
    $$ values ('rejected'::text, 1, 'verifier_1'::name, 'patch-as-seen'::text, 2,
               'two tests are red'::text) $$,
    'records the verdict'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.is_late, e.next_attempt_at, e.detail
       from testing.event('parser', 'short') as e $$,
    $$ values ('reject'::text, 'verifying'::text, 'ready'::text, 2::bigint, 'verifier_1'::name,
               'verifier_1'::name, false, '2026-09-01 03:03+00'::timestamptz,
               '{"attempt": 1, "reason": "two tests are red", "exit_code": 2}'::jsonb) $$,
    'writes the event'
);

-- == the next attempt must differ =================================================================

select testing.clock_passes('2 minutes');
select testing.claim('parser', 'short');
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_fingerprint": "patch-1", "p_approach": null,
        "p_result": {"commit": "c"}}', 'parser', 'short'),
    'repeated', 'the rejected fingerprint is refused from now on'
);
select testing.refused(
    testing.holding('submit', '{"p_fingerprint": "patch-as-seen", "p_approach": null,
        "p_result": {"commit": "c"}}', 'parser', 'short'),
    'repeated', 'and so is what the verifier itself computed'
);
reset session authorization;

-- == the wait grows; the budget ends ==============================================================

select testing.submit('parser', 'short', p_fingerprint => 'patch-2');
select testing.claim_verification('parser', 'short');
select testing.judge('rejected', 'parser', 'short');
select is(
    (testing.campaign('parser', 'short')).next_attempt_at, testing.clock() + interval '4 minutes',
    'doubles the wait with every failure'
);

select testing.clock_passes('4 minutes');
select testing.claim('parser', 'short');
select testing.submit('parser', 'short', p_fingerprint => 'patch-3');
select testing.claim_verification('parser', 'short');
set local session authorization verifier_1;
select results_eq(
    format('select outcome, moved, state, generation from (%s) as j', testing.judging(
        '{"p_verdict": "rejected", "p_reason": "still red", "p_exit_code": 1}', 'parser', 'short')),
    $$ values ('ok'::text, true, 'parked'::text, 6::bigint) $$,
    'parks the campaign when attempt_budget has run out'
);
reset session authorization;
select results_eq(
    $$ select c.failure_count, c.parked_for, c.lease_principal
       from testing.campaign('parser', 'short') as c $$,
    $$ values (3, 'attempt_budget'::text, null::name) $$,
    'and names the budget'
);
select is(
    (testing.event('parser', 'short')).detail,
    '{"attempt": 3, "reason": "still red", "exit_code": 1, "parked_for": "attempt_budget"}'::jsonb,
    'in the event, too'
);
select is(
    (testing.attempt('parser', 'short')).ending, 'rejected', 'the attempt has ended all the same'
);
select results_eq(
    $$ select testing.moves('parser', 'short') $$,
    array['1 open: none to ready', '2 claim: ready to leased', '3 submit: leased to attempted',
          '4 claim_verification: attempted to verifying', '5 reject: verifying to ready',
          '6 claim: ready to leased', '7 submit: leased to attempted',
          '8 claim_verification: attempted to verifying', '9 reject: verifying to ready',
          '10 claim: ready to leased', '11 submit: leased to attempted',
          '12 claim_verification: attempted to verifying', '13 reject: verifying to parked'],
    'and the log holds every move'
);

-- == what a rejection may leave out ===============================================================

-- A submission that touches a protected path is rejected unrun.
select testing.verifying();
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging(
        '{"p_verdict": "rejected", "p_fingerprint": null, "p_command": null, "p_exit_code": null,
          "p_reason": "tests/parser_test.py is protected"}')),
    $$ values ('ok'::text, 'ready'::text) $$,
    'takes a rejection without a run: no command, exit code or fingerprint'
);
reset session authorization;
select is(
    (testing.event()).detail,
    '{"attempt": 1, "reason": "tests/parser_test.py is protected"}'::jsonb,
    'and says no exit code then'
);

-- Rejected with exit code 0: the command passed, and something else was wrong.
select testing.clock_passes('1 minute');
select testing.claim();
select testing.submit(p_fingerprint => 'patch-2');
select testing.claim_verification();
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging(
        '{"p_verdict": "rejected", "p_exit_code": 0, "p_fingerprint": "differs",
          "p_reason": "the patch is not what was submitted"}')),
    $$ values ('ok'::text, 'ready'::text) $$,
    'takes a rejection whose command passed, and whose fingerprint differs'
);
reset session authorization;

-- == late =========================================================================================

select testing.clock_passes('1 day');
select testing.claim();
select testing.submit(p_fingerprint => 'patch-3');
select testing.claim_verification();
select testing.clock_passes('1 day');
select testing.judge('rejected');
select results_eq(
    $$ select e.transition, e.is_late from testing.event() as e $$,
    $$ values ('reject'::text, true) $$,
    'takes a rejection after the lease has run out, and the event says that it was late'
);

-- == a rejection in a class that promotes =========================================================

select testing.verifying('parser', 'ship');
select testing.judge('rejected', 'parser', 'ship');
select results_eq(
    $$ select c.state, c.lease_principal from testing.campaign('parser', 'ship') as c $$,
    $$ values ('ready'::text, null::name) $$,
    'goes back to ready from a class that promotes, too, and keeps no lease'
);

-- Nothing can be accepted any more of what was rejected.
set local session authorization verifier_1;
select testing.refused(
    testing.judging(jsonb_build_object('p_generation', 2), 'parser', 'ship'), 'stale',
    'takes no acceptance of what it rejected'
);
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'ship', p_token => gen_random_uuid()) $$,
    'and nobody can claim its promotion'
);
reset session authorization;

select finish();
rollback;
