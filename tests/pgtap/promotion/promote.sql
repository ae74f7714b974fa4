-- kernel.promote records that an accepted result is in its target, and was read back there.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(38);

select testing.callable_by('kernel.promote', 'verifier');

-- == under the lease that judged ==================================================================

select testing.promoting();
select testing.clock_passes('2 minutes');
set local session authorization verifier_1;
select testing.refused(
    testing.promotion(), 'no_evidence', 'refuses while no operation has moved the result'
);
reset session authorization;
select testing.moved() as operation \gset
set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.promote(
           p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'), p_generation => 2,
           p_token => testing.token('verifier_1')) $$,
    $$ values ('ok'::text, false, true, null::text, 'ship'::text, testing.id('parser', 'ship'),
               2::bigint, 'verified'::text, null::timestamptz, null::text) $$,
    'goes to verified, under the same generation, and gives the lease back'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.phase_since,
              c.promotion_loss_count, c.loss_count, c.failure_count, c.closed_at
       from testing.campaign('parser', 'ship') as c $$,
    $$ values ('verified'::text, 2::bigint, null::name, null::bytea,
               '2026-09-01 03:02+00'::timestamptz, 0, 0, 0, null::timestamptz) $$,
    'writes the state and its time, from which "settle" is reckoned'
);
select results_eq(
    $$ select a.promoted_at, a.promotion_principal, a.promotion_generation, a.ended_at, a.ending
       from testing.attempt('parser', 'ship') as a $$,
    $$ values ('2026-09-01 03:02+00'::timestamptz, 'verifier_1'::name, 2::bigint,
               null::timestamptz, null::text) $$,
    'writes by whom and when into the attempt, which is still open'
);
select results_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.at, e.detail
       from testing.event('parser', 'ship') as e $$,
    format(
        $$ values (6::bigint, 'promote'::text, 'promoting'::text, 'verified'::text, 2::bigint,
                   'verifier_1'::name, 'verifier_1'::name, false,
                   '2026-09-01 03:02+00'::timestamptz,
                   '{"attempt": 1, "operation": %s, "old": "base-1", "new": "commit-of-patch-1",
                     "fence": "fence-1",
                     "read_back": {"commit": "commit-of-patch-1", "ref": "tip-1"}}'::jsonb) $$,
        to_json(:'operation'::text)
    ),
    'writes the event with the operation, its old value, new value, fence value and read-back'
);

-- == repeated =====================================================================================

select testing.promotion(jsonb_build_object(
    'p_generation', 2, 'p_token', testing.token('verifier_1'))) as promote \gset
set local session authorization verifier_1;
select testing.duplicate(:'promote', 'answers a repeat with ok and duplicate');
select testing.refused(
    testing.promotion('{"p_generation": 1}'), 'stale', 'refuses the same under another generation'
);
select testing.refused(
    testing.holding('outdate', '{"p_reason": "moved"}', 'parser', 'ship'), 'stale',
    'refuses to outdate what was promoted'
);
select testing.refused(
    testing.promotion(jsonb_build_object('p_token', testing.token('other'))), 'not_holder',
    'refuses a repeat with another token'
);
reset session authorization;
set local session authorization verifier_2;
select testing.refused(:'promote', 'not_holder', 'refuses the same call of another principal');
reset session authorization;
select testing.clock_passes('1 day');
select testing.observed(true, 'parser', 'ship');
select is(testing.state('parser', 'ship'), 'confirmed', 'the campaign has been confirmed');
set local session authorization verifier_1;
select testing.duplicate(:'promote', 'answers a repeat with ok and duplicate even then');
reset session authorization;

-- == by the next owner, after the first one was lost ==============================================

select testing.class('next', '{"promotes": true}');
select testing.promoting('parser', 'next');
select testing.promotion(
    jsonb_build_object('p_token', testing.token('verifier_1')), 'parser', 'next') as first_promote
\gset
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'next') $$);
set local session authorization verifier_1;
select testing.refused(
    :'first_promote', 'stale', 'refuses the record of a promotion that was lost'
);
reset session authorization;
select testing.must('verifier_2', $$ select * from kernel.claim_promotion(
    p_class => 'next', p_token => testing.token('verifier_2')) $$);
select testing.moved('parser', 'next', 'verifier_2');
set local session authorization verifier_1;
select testing.refused(:'first_promote', 'stale', 'also when another has taken it up');
select testing.refused(
    testing.promotion(jsonb_build_object('p_token', testing.token('verifier_1')), 'parser', 'next'),
    'not_holder', 'and under the other''s generation'
);
reset session authorization;
set local session authorization verifier_2;
select testing.refused(
    testing.promotion(jsonb_build_object('p_token', testing.token('other')), 'parser', 'next'),
    'not_holder', 'refuses the new owner without its token'
);
select results_eq(
    format('select outcome, state, generation from (%s) as p',
           testing.promotion('{}', 'parser', 'next')),
    $$ values ('ok'::text, 'verified'::text, 4::bigint) $$, 'takes it of the new owner'
);
reset session authorization;
select results_eq(
    $$ select a.promotion_principal, a.promotion_generation
       from testing.attempt('parser', 'next') as a $$,
    $$ values ('verifier_2'::name, 4::bigint) $$, 'and says that it was that one'
);

select testing.class('same', '{"promotes": true}');
select testing.promoting('parser', 'same');
select testing.moved('parser', 'same');

-- == independence, checked again ==================================================================

grant worker_1 to verifier_1;
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{}', 'parser', 'same'), 'self_verdict',
    'refuses who became a member of the worker meanwhile'
);
reset session authorization;
revoke worker_1 from verifier_1;

select testing.class('apart', '{"promotes": true, "separate_family": true}');
select testing.promoting('parser', 'apart');
select testing.moved('parser', 'apart');
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'verifier_1', p_family => 'north') $$);
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{}', 'parser', 'apart'), 'same_family',
    'refuses who became one of the worker''s family meanwhile'
);
select testing.refused(
    testing.promotion('{"p_generation": 1}', 'parser', 'same'), 'stale',
    'refuses an earlier generation'
);

-- The refusals left the lease as it was; and an expired one is no hindrance.
reset session authorization;
select testing.clock_passes('1 day');
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as p', testing.promotion('{}', 'parser', 'same')),
    $$ values ('ok'::text, 'verified'::text) $$,
    'takes the record after those refusals, and after the lease has run out'
);
reset session authorization;
select ok((testing.event('parser', 'same')).is_late, 'and the event says that it was late');

-- == where it is not done =========================================================================

select testing.verifying('lexer', 'same');
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{}', 'lexer', 'same'), 'illegal',
    'refuses in verifying: promotion follows the verdict'
);
reset session authorization;
select testing.open('untouched', 'same');
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{}', 'untouched', 'same'), 'illegal', 'refuses in ready'
);
reset session authorization;
select testing.judge('accepted', 'lexer', 'same');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'lexer', 'same'));
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{"p_generation": 2}', 'lexer', 'same'), 'stale',
    'refuses after the campaign was parked'
);
select testing.refused(testing.promotion('{}', 'lexer', 'same'), 'illegal', 'and in parked');
reset session authorization;

-- == forbidden ====================================================================================

set local session authorization verifier_elsewhere;
select testing.refused(
    testing.promotion(jsonb_build_object('p_token', testing.token('verifier_1')), 'parser',
                      'apart'),
    'forbidden', 'refuses who is not enrolled'
);
select testing.refused(
    testing.promotion('{"p_campaign_id": 123456789}', 'parser', 'apart'), 'forbidden',
    'also where there is no such campaign'
);
reset session authorization;

-- == bounds and misuse ============================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization verifier_1;
select testing.raises(
    testing.promotion(format('{"%s": null}', a.name)::jsonb, 'parser', 'apart'), 'KN101',
    format('argument %s is null', a.name), format('wants %s', a.name)
)
from unnest(array['p_class', 'p_campaign_id', 'p_generation', 'p_token']) as a (name);
select testing.raises(
    testing.promotion('{"p_class": "%"}', 'parser', 'apart'), 'KN102', null,
    'wants the name of a class'
);
select testing.raises(
    testing.promotion('{"p_campaign_id": 123456789}', 'parser', 'apart'), 'KN108', null,
    'wants a campaign that there is'
);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

set local session authorization verifier_1;
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.promotion('{}', 'parser', 'apart'), 'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
