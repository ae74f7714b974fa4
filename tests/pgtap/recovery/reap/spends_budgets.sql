-- kernel.reap counts each loss against its own budget, and parks the campaign when one has run out.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(21);

create function pg_temp.lose(p_class text, p_claim text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.must(
        case when p_claim = 'claim' then 'worker_1' else 'verifier_1' end,
        testing.call(p_claim, jsonb_build_object('p_class', p_class, 'p_token', gen_random_uuid()))
    );
    perform testing.clock_passes('15 minutes');
    return testing.must('reaper_1', testing.call('reap', jsonb_build_object('p_class', p_class)))
        ->> 'state';
end
$fn$;

-- == work =========================================================================================

select testing.class('w', '{"loss_budget": 3, "attempt_budget": 1}');
select testing.open('parser', 'w');
select is(pg_temp.lose('w', 'claim'), 'ready', 'goes on after the first loss');
select is(pg_temp.lose('w', 'claim'), 'ready', 'and the second, of a budget of three');
select is(pg_temp.lose('w', 'claim'), 'parked', 'parks with the third');
select results_eq(
    $$ select c.parked_for, c.loss_count, c.failure_count, c.attempt_count, c.generation,
              c.lease_principal
       from testing.campaign('parser', 'w') as c $$,
    $$ values ('loss_budget'::text, 3, 0, 3, 6::bigint, null::name) $$,
    'names loss_budget; three lost leases are no failure, though attempt_budget is one'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.detail
       from testing.event('parser', 'w') as e $$,
    $$ values ('lose'::text, 'leased'::text, 'parked'::text,
               '{"attempt": 3, "reason": "the lease ran out",
                 "parked_for": "loss_budget"}'::jsonb) $$,
    'in the event, too'
);
select is((testing.attempt('parser', 'w')).ending, 'lost', 'the attempt has ended as lost');
set local session authorization worker_1;
select is_empty(
    $$ select * from kernel.claim(p_class => 'w', p_token => gen_random_uuid()) $$,
    'nobody works on it any more'
);
reset session authorization;
select ok(
    (testing.campaign('parser', 'w')).closed_at is null, 'but it has not disappeared: it is open'
);

-- == releases beyond release_budget count as losses ===============================================

select testing.class('r', '{"loss_budget": 2, "release_budget": 1}');
select testing.leased('parser', 'r');
select testing.must('worker_1', testing.holding('release', '{}', 'parser', 'r'));
select is(pg_temp.lose('r', 'claim'), 'ready', 'does not count a release within release_budget');
select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'r', p_token => testing.token('worker_1')) $$);
select is(
    testing.must('worker_1', testing.holding('release', '{}', 'parser', 'r')) ->> 'state', 'parked',
    'a release beyond it is the loss that parks'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{loss}"}', 'parser', 'r'));
select is(
    pg_temp.lose('r', 'claim'), 'parked', 'and one that was made before counts with the next loss'
);
select results_eq(
    $$ select c.parked_for, c.loss_count, c.release_count
       from testing.campaign('parser', 'r') as c $$,
    $$ values ('loss_budget'::text, 1, 2) $$, 'under the name of loss_budget'
);

-- == verification =================================================================================

select testing.class(
    'v', '{"verification_loss_budget": 2, "loss_budget": 1, "promotion_loss_budget": 1}'
);
select testing.attempted('parser', 'v');
select is(
    pg_temp.lose('v', 'claim_verification'), 'attempted', 'lost verifications have their own budget'
);
select is(pg_temp.lose('v', 'claim_verification'), 'parked', 'which parks when it has run out');
select results_eq(
    $$ select c.parked_for, c.verification_loss_count, c.loss_count, e.transition,
              e.detail ->> 'parked_for'
       from testing.campaign('parser', 'v') as c, testing.event('parser', 'v') as e $$,
    $$ values ('verification_loss_budget'::text, 2, 0, 'lose_verification'::text,
               'verification_loss_budget'::text) $$,
    'and is named'
);
select is((testing.attempt('parser', 'v')).ending, null, 'the submitted attempt is not lost by it');

-- == promotion ====================================================================================

select testing.class('p', '{"promotes": true, "promotion_loss_budget": 2, "loss_budget": 1,
                            "verification_loss_budget": 1}');
select testing.promoting('parser', 'p');
select testing.clock_passes('15 minutes');
select is(
    testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'p') $$) ->> 'state',
    'accepted',
    'lost promotions have their own budget'
);
select is(pg_temp.lose('p', 'claim_promotion'), 'parked', 'which parks when it has run out');
select results_eq(
    $$ select c.parked_for, c.promotion_loss_count, c.verification_loss_count, c.loss_count,
              e.transition, e.detail ->> 'parked_for'
       from testing.campaign('parser', 'p') as c, testing.event('parser', 'p') as e $$,
    $$ values ('promotion_loss_budget'::text, 2, 0, 0, 'lose_promotion'::text,
               'promotion_loss_budget'::text) $$,
    'and is named'
);
select results_eq(
    $$ select a.ending, (testing.verdict('parser', 'p')).verdict
       from testing.attempt('parser', 'p') as a $$,
    $$ values (null::text, 'accepted'::text) $$, 'what was accepted stays accepted'
);

-- Read live: an admin who raises a budget means the campaigns that are open.
select testing.class('live', '{"loss_budget": 1}');
select testing.open('parser', 'live');
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'live', p_policy => '{"loss_budget": 2}') $$);
select is(pg_temp.lose('live', 'claim'), 'ready', 'goes by the class''s budget of today');

select finish();
rollback;
