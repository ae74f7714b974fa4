-- kernel.reap and a late result: one of the two wins, whole.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(18);

-- == the result came first ========================================================================

select testing.leased();
select testing.clock_passes('1 day');
select testing.submit();
select ok(
    (testing.event()).is_late, 'a result after the expiry counts while nobody took the lease'
);
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'fix') $$, 'then finds nothing to take back'
);
reset session authorization;
select is(testing.state(), 'attempted', 'and leaves what was submitted');

-- == the reaper came first ========================================================================

select testing.class('w');
select testing.leased('parser', 'w');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'w') $$);

set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "late", "p_approach": null,
        "p_result": {}}', 'parser', 'w'),
    'stale', 'makes the late submission stale'
);
select testing.refused(
    testing.holding('fail', '{"p_generation": 1, "p_reason": "late"}', 'parser', 'w'), 'stale',
    'and the late failure'
);
select testing.refused(
    testing.holding('release', '{"p_generation": 1}', 'parser', 'w'), 'stale', 'the late release'
);
select testing.refused(
    testing.holding('renew', '{"p_generation": 1}', 'parser', 'w'), 'stale', 'the late renewal'
);
select testing.refused(
    testing.holding('brief', '{"p_generation": 1}', 'parser', 'w'), 'stale', 'and the late question'
);
select results_eq(
    format('select generation, state, message from (%s) as r',
           testing.holding('renew', '{"p_generation": 1}', 'parser', 'w')),
    $$ values (2::bigint, 'ready'::text,
               'generation 1 is not the campaign''s present one, 2'::text) $$,
    'naming the new generation'
);
reset session authorization;

-- The same principal claims again with another token: the old lease is as stale as before.
select testing.claim('parser', 'w', p_token => testing.token('anew'));
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "late", "p_approach": null,
        "p_result": {}}', 'parser', 'w'),
    'stale', 'a result of the old lease stays stale while its principal holds a new one'
);
select testing.refused(
    testing.holding('submit', '{"p_generation": 3, "p_fingerprint": "late", "p_approach": null,
        "p_result": {}}', 'parser', 'w'),
    'not_holder', 'and the old token is not the new lease''s'
);
reset session authorization;
select is(testing.state('parser', 'w'), 'leased', 'the new lease goes on');

-- == verification and promotion ===================================================================

select testing.class('p', '{"promotes": true}');
select testing.verifying('parser', 'p');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'p') $$);
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'parser', 'p'), 'stale', 'makes the late verdict stale'
);
reset session authorization;
select testing.claim_verification('parser', 'p', 'verifier_2');
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'parser', 'p'), 'stale',
    'also while another verifier judges'
);
reset session authorization;
select testing.judge('accepted', 'parser', 'p', 'verifier_2');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'p') $$);
set local session authorization verifier_2;
select testing.refused(
    testing.promotion('{"p_generation": 4}', 'parser', 'p'), 'stale',
    'makes the late promotion stale'
);
select testing.refused(
    testing.holding('outdate', '{"p_generation": 4, "p_reason": "late"}', 'parser', 'p'), 'stale',
    'and the late outdating'
);
reset session authorization;
select results_eq(
    $$ select c.state, (select count(*) from ledger.verdict as v where v.class = 'p')
       from testing.campaign('parser', 'p') as c $$,
    $$ values ('accepted'::text, 1::bigint) $$, 'what was accepted in time stands, once'
);
select results_eq(
    $$ select * from testing.moves('parser', 'p') $$,
    array['1 open: none to ready', '2 claim: ready to leased', '3 submit: leased to attempted',
          '4 claim_verification: attempted to verifying',
          '5 lose_verification: verifying to attempted',
          '6 claim_verification: attempted to verifying', '7 accept: verifying to promoting',
          '8 lose_promotion: promoting to accepted'],
    'and the log holds each move once'
);

select finish();
rollback;
