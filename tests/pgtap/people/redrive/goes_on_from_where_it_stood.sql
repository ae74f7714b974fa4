-- kernel.redrive sends a parked campaign on from where it stood, no further than its verdict
-- allows.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(41);

select testing.callable_by('kernel.redrive', 'admin');

create table testing.expected (state text, goes_to text);
insert into testing.expected values
    ('ready', 'ready'), ('leased', 'ready'), ('attempted', 'attempted'), ('verifying', 'attempted'),
    ('accepted', 'accepted'), ('promoting', 'accepted'), ('verified', 'verified');
grant select on testing.expected to public;

select testing.in_state(x.state) from testing.expected as x;
select testing.clock_passes('1 hour');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_' || x.state))
from testing.expected as x;
select testing.clock_passes('1 hour');

create table testing.before as
select x.goes_to, x.state as stood_in, c.*
from testing.expected as x, testing.campaign('parser', 'in_' || x.state) as c;
grant select on testing.before to public;

set local session authorization admin_1;
select results_eq(
    testing.on_campaign('redrive', '{"p_reason": "go on"}', 'parser', b.class),
    format($$ values ('ok'::text, false, true, null::text, %L::text, %s::bigint, %s::bigint,
                      %L::text,
                      null::timestamptz, null::text) $$,
           b.class, b.campaign_id, b.generation + 1, b.goes_to),
    format('goes to %s what stood in %s, under a new generation', b.goes_to, b.stood_in)
)
from testing.before as b;
reset session authorization;

select results_eq(
    format($$ select c.state, c.generation, c.parked_for, c.next_attempt_at, c.phase_since,
                     c.lease_principal, c.attempt_count
              from testing.campaign('parser', %L) as c $$, b.class),
    format($$ select b.goes_to, b.generation + 1, null::text, testing.clock(), testing.clock(),
                     null::name, b.attempt_count
              from testing.before as b where b.class = %L $$, b.class),
    format('is due at once, and its term begins anew, in %s', b.class)
)
from testing.before as b;
select results_eq(
    format($$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
                     e.next_attempt_at, e.at, e.detail
              from testing.event('parser', %L) as e $$, b.class),
    format($$ select 'redrive'::text, 'parked'::text, b.goes_to, b.generation + 1, 'admin_1'::name,
                     null::name, testing.clock(), testing.clock(),
                     '{"reason": "go on", "was_parked_for": "admin",
                       "budgets": ["attempt", "loss", "release", "verification_loss",
                                   "promotion_loss", "abstain", "unknown"]}'::jsonb
              from testing.before as b where b.class = %L $$, b.class),
    format('writes the event in %s', b.class)
)
from testing.before as b;

-- == what comes next can be done ==================================================================

select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'in_leased', p_token => testing.token('worker_1')) $$);
select is(
    (testing.attempt('parser', 'in_leased')).attempt_no, 2,
    'a withdrawn attempt is followed by another'
);
select testing.claim_verification('parser', 'in_verifying', 'verifier_2');
select testing.judge('accepted', 'parser', 'in_verifying', 'verifier_2');
select is(
    testing.state('parser', 'in_verifying'), 'promoting', 'an attempt without a verdict is judged'
);
select testing.must('verifier_2', $$ select * from kernel.claim_promotion(
    p_class => 'in_promoting', p_token => testing.token('verifier_2')) $$);
select testing.moved('parser', 'in_promoting', 'verifier_2');
select testing.must('verifier_2', testing.promotion('{}', 'parser', 'in_promoting'));
select is(
    (select count(*) from ledger.verdict as v where v.class = 'in_promoting'), 1::bigint,
    'what was accepted is promoted, and not judged again'
);
select testing.clock_passes('1 day');
select is(
    testing.observed(true, 'parser', 'in_verified') ->> 'note', 'confirm',
    'what was promoted is confirmed, and not promoted again'
);

-- == after an attempt that has ended ==============================================================

select testing.class('ended', '{"attempt_budget": 1}');
select testing.verifying('parser', 'ended');
select testing.judge('rejected', 'parser', 'ended');
select is(testing.state('parser', 'ended'), 'parked', 'a rejection has used attempt_budget up');
set local session authorization admin_1;
select results_eq(
    format('select state from (%s) as r', testing.on_campaign('redrive', '{}', 'parser', 'ended')),
    $$ values ('ready'::text) $$, 'goes to ready what was rejected: a verdict is not undone'
);
reset session authorization;
select is(
    (testing.event('parser', 'ended')).detail ->> 'was_parked_for', 'attempt_budget',
    'says in the event what it had been parked for'
);

-- Accepted, promoted and contradicted: that attempt is over, too.
select testing.class('wrong', '{"promotes": true, "attempt_budget": 1}');
select testing.verified('parser', 'wrong');
select testing.clock_passes('1 day');
select testing.observed(false, 'parser', 'wrong');
select is(testing.state('parser', 'wrong'), 'parked', 'a contradiction has used attempt_budget up');
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'wrong'));
select is(
    testing.state('parser', 'wrong'), 'ready', 'goes to ready what was contradicted'
);

-- Where nothing is promoted, an accepted attempt is verified.
select testing.class('ended_well');
select testing.verified('parser', 'ended_well');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'ended_well'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'ended_well'));
select is(
    testing.state('parser', 'ended_well'), 'verified',
    'goes to verified what was accepted where nothing is promoted'
);

-- An abstention is no verdict; an outdated attempt is none that waits.
select testing.class('off', '{"abstain_budget": 1}');
select testing.verifying('parser', 'off');
select testing.judge('unverifiable', 'parser', 'off');
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'off'));
select is(
    testing.state('parser', 'off'), 'attempted', 'goes to attempted what nobody could verify'
);

select testing.class('moved', '{"promotes": true, "loss_budget": 1}');
select testing.promoting('parser', 'moved');
select testing.must('verifier_1', testing.holding(
    'outdate', '{"p_reason": "moved"}', 'parser', 'moved'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'moved'));
select is(testing.state('parser', 'moved'), 'ready', 'goes to ready what was outdated');

-- Its own verdict, and that of its present attempt.
select testing.class('own', '{"promotes": true}');
select testing.verifying('lexer', 'own');
select testing.judge('rejected', 'lexer', 'own');
select testing.promoting('neighbour', 'own');
select testing.clock_passes('1 hour');
select testing.claim('lexer', 'own');
select testing.submit('lexer', 'own', p_fingerprint => 'patch-2');
select testing.open('third', 'own');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'lexer', 'own'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'lexer', 'own'));
select is(
    testing.state('lexer', 'own'), 'attempted', 'goes by no verdict on an earlier attempt'
);
select testing.claim('third', 'own', 'worker_2');
select testing.submit('third', 'own', 'worker_2');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'third', 'own'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'third', 'own'));
select is(
    testing.state('third', 'own'), 'attempted', 'and by none on another campaign''s'
);
select is(testing.state('neighbour', 'own'), 'promoting', 'which goes on');

-- Twice in a row, from each of the two.
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_accepted'));
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'in_accepted'));
select is(
    testing.state('parser', 'in_accepted'), 'accepted', 'goes there again when it is parked again'
);

-- A verification that had expired is not begun under the old lease.
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'parser', 'in_verifying'), 'stale',
    'revives no lease: a verdict under the old generation is stale'
);
reset session authorization;
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "f", "p_approach": null,
        "p_result": {"base": "b", "commit": "c"}}', 'parser', 'in_leased'),
    'stale', 'nor is a result under the worker''s'
);
reset session authorization;

select results_eq(
    $$ select * from testing.moves('parser', 'in_accepted') $$,
    array['1 open: none to ready', '2 claim: ready to leased', '3 submit: leased to attempted',
          '4 claim_verification: attempted to verifying', '5 accept: verifying to promoting',
          '6 lose_promotion: promoting to accepted', '7 park: accepted to parked',
          '8 redrive: parked to accepted', '9 park: accepted to parked',
          '10 redrive: parked to accepted'],
    'and the log holds every move'
);

select finish();
rollback;
