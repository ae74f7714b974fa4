-- kernel.outdate gives up an accepted attempt whose target has moved on without it.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(37);

select testing.callable_by('kernel.outdate', 'verifier');

select testing.promoting();
select testing.clock_passes('2 minutes');
set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.outdate(
           p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'), p_generation => 2,
           p_token => testing.token('verifier_1'), p_reason => 'main is at another commit') $$,
    $$ values ('ok'::text, false, true, null::text, 'ship'::text, testing.id('parser', 'ship'),
               2::bigint, 'ready'::text, null::timestamptz, null::text) $$,
    'sends the campaign back to ready, and gives the lease back'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.loss_count, c.failure_count,
              c.promotion_loss_count, c.next_attempt_at, c.failure_reason, c.parked_for
       from testing.campaign('parser', 'ship') as c $$,
    $$ values ('ready'::text, 2::bigint, null::name, 1, 0, 0, '2026-09-01 03:02+00'::timestamptz,
               'main is at another commit'::text, null::text) $$,
    'counts a loss and no failure, and lets the next worker begin at once'
);
select results_eq(
    $$ select a.ending, a.ended_at, a.reason, a.promoted_at, a.promotion_principal
       from testing.attempt('parser', 'ship') as a $$,
    $$ values ('outdated'::text, '2026-09-01 03:02+00'::timestamptz,
               'main is at another commit'::text, null::timestamptz, 'verifier_1'::name) $$,
    'ends the attempt as outdated, with the reason for those that follow'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.is_late, e.next_attempt_at, e.detail
       from testing.event('parser', 'ship') as e $$,
    $$ values ('outdate'::text, 'promoting'::text, 'ready'::text, 2::bigint, 'verifier_1'::name,
               'verifier_1'::name, false, '2026-09-01 03:02+00'::timestamptz,
               '{"attempt": 1, "reason": "main is at another commit"}'::jsonb) $$,
    'writes the event'
);
select is(
    (testing.verdict('parser', 'ship')).verdict, 'accepted', 'leaves the verdict as it was given'
);

-- == repeated =====================================================================================

select testing.holding('outdate', jsonb_build_object(
    'p_reason', 'main is at another commit', 'p_token', testing.token('verifier_1')),
    'parser', 'ship') as outdate \gset
set local session authorization verifier_1;
select testing.duplicate(:'outdate', 'answers a repeat with ok and duplicate');
select testing.refused(
    testing.holding('outdate', '{"p_reason": "another"}', 'parser', 'ship'), 'stale',
    'refuses another reason under the same lease'
);
select testing.refused(
    testing.promotion(), 'stale', 'refuses to promote what was outdated'
);
reset session authorization;
set local session authorization verifier_2;
select testing.refused(:'outdate', 'not_holder', 'refuses the same call of another principal');
reset session authorization;

-- == the fingerprint stays usable =================================================================

select testing.claim('parser', 'ship');
set local session authorization worker_1;
select results_eq(
    format('select outcome, state from (%s) as s', testing.holding('submit', '{
        "p_fingerprint": "patch-1", "p_approach": "the same, on the new base",
        "p_result": {"base": "base-2", "commit": "commit-2"}}', 'parser', 'ship')),
    $$ values ('ok'::text, 'attempted'::text) $$,
    'lets the same fingerprint be submitted again'
);
reset session authorization;
select testing.claim_verification('parser', 'ship', 'verifier_2');
set local session authorization verifier_2;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging('{}', 'parser', 'ship')),
    $$ values ('ok'::text, 'promoting'::text) $$, 'and be accepted'
);
reset session authorization;
set local session authorization verifier_1;
select testing.duplicate(:'outdate', 'answers a repeat with ok and duplicate even then');
reset session authorization;
select testing.moved(p_verifier => 'verifier_2');
set local session authorization verifier_2;
select results_eq(
    format('select outcome, state from (%s) as p', testing.promotion()),
    $$ values ('ok'::text, 'verified'::text) $$, 'and be promoted'
);
reset session authorization;
select results_eq(
    $$ select a.attempt_no, a.ending from ledger.attempt as a where a.class = 'ship' order by 1 $$,
    $$ values (1, 'outdated'::text), (2, null) $$, 'as another attempt'
);

-- == the budget ===================================================================================

select testing.class('twice', '{"promotes": true, "loss_budget": 2}');
select testing.promoting('parser', 'twice');
select testing.must('verifier_1', testing.holding(
    'outdate', '{"p_reason": "moved"}', 'parser', 'twice'));
select testing.claim('parser', 'twice');
select testing.submit('parser', 'twice');
select testing.claim_verification('parser', 'twice');
select testing.judge('accepted', 'parser', 'twice');
set local session authorization verifier_1;
select results_eq(
    format('select outcome, moved, state, generation from (%s) as o', testing.holding(
        'outdate', '{"p_reason": "moved again"}', 'parser', 'twice')),
    $$ values ('ok'::text, true, 'parked'::text, 4::bigint) $$,
    'parks the campaign when loss_budget has run out'
);
reset session authorization;
select results_eq(
    $$ select c.loss_count, c.parked_for from testing.campaign('parser', 'twice') as c $$,
    $$ values (2, 'loss_budget'::text) $$, 'and names the budget'
);
select is(
    (testing.event('parser', 'twice')).detail,
    '{"attempt": 2, "reason": "moved again", "parked_for": "loss_budget"}'::jsonb,
    'in the event, too'
);
select is(
    (testing.attempt('parser', 'twice')).ending, 'outdated', 'the attempt has ended as outdated'
);

-- == by the next owner; late ======================================================================

select testing.class('next', '{"promotes": true}');
select testing.accepted('parser', 'next');
select testing.must('verifier_2', $$ select * from kernel.claim_promotion(
    p_class => 'next', p_token => testing.token('verifier_2')) $$);
set local session authorization verifier_1;
select testing.refused(
    testing.holding('outdate', '{"p_generation": 2, "p_reason": "moved"}', 'parser', 'next'),
    'stale',
    'refuses the owner that was lost'
);
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved"}', 'parser', 'next'), 'not_holder',
    'also under the generation of the present one'
);
reset session authorization;
select testing.clock_passes('1 day');
set local session authorization verifier_2;
select testing.refused(
    testing.holding('outdate', jsonb_build_object(
        'p_reason', 'moved', 'p_token', testing.token('other')), 'parser', 'next'),
    'not_holder', 'refuses the owner without its token'
);
select results_eq(
    format('select outcome, state, generation from (%s) as o', testing.holding(
        'outdate', jsonb_build_object('p_reason', repeat('x', 4096)), 'parser', 'next')),
    $$ values ('ok'::text, 'ready'::text, 4::bigint) $$,
    'takes it of the present one, after its lease has run out, with a reason of 4096 bytes'
);
reset session authorization;
select ok((testing.event('parser', 'next')).is_late, 'and the event says that it was late');

-- == where it is not done =========================================================================

select testing.class('states', '{"promotes": true}');
select testing.verifying('lexer', 'states');
set local session authorization verifier_1;
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved"}', 'lexer', 'states'), 'illegal',
    'refuses in verifying'
);
reset session authorization;
select testing.open('untouched', 'states');
set local session authorization verifier_1;
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved"}', 'untouched', 'states'), 'illegal',
    'and in ready'
);
reset session authorization;

set local session authorization verifier_elsewhere;
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved"}', 'lexer', 'states'), 'forbidden',
    'refuses who is not enrolled'
);
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved", "p_campaign_id": 123456789}', 'lexer',
                    'states'),
    'forbidden', 'also where there is no such campaign'
);
reset session authorization;

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization verifier_1;
select testing.raises(
    testing.holding('outdate', '{"p_reason": null}', 'lexer', 'states'), 'KN101',
    'argument p_reason is null', 'wants a reason'
);
select testing.raises(
    testing.holding('outdate', '{"p_reason": " "}', 'lexer', 'states'), 'KN102', null,
    'that is not blank'
);
select testing.raises(
    testing.holding('outdate', jsonb_build_object('p_reason', repeat('x', 4097)), 'lexer',
                    'states'),
    'KN103', null, 'of at most 4096 bytes'
);
select testing.raises(
    testing.holding('outdate', '{"p_reason": "moved", "p_token": null}', 'lexer', 'states'),
    'KN101',
    'argument p_token is null', 'wants the token'
);
select testing.raises(
    testing.holding('outdate', '{"p_reason": "moved", "p_generation": null}', 'lexer', 'states'),
    'KN101', 'argument p_generation is null', 'wants the generation'
);
select testing.raises(
    testing.holding('outdate', '{"p_reason": "moved", "p_class": "A"}', 'lexer', 'states'), 'KN102',
    null, 'wants the name of a class'
);
select testing.raises(
    testing.holding('outdate', '{"p_reason": "moved", "p_campaign_id": 123456789}', 'lexer',
                    'states'),
    'KN108', null, 'wants a campaign that there is'
);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');
set local session authorization verifier_1;
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.holding('outdate', '{"p_reason": "moved"}', 'lexer', 'states'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
