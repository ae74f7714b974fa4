-- kernel.judge abstains: unverifiable ends nothing, counts by distinct principals, and parks in
-- time.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(24);

create function pg_temp.abstain(p_verifier name, p_class text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.claim_verification('parser', p_class, p_verifier);
    perform testing.judge('unverifiable', 'parser', p_class, p_verifier, 'no network');
    if testing.state('parser', p_class) = 'attempted' then
        perform testing.clock_is((testing.campaign('parser', p_class)).next_attempt_at);
    end if;
    return testing.state('parser', p_class);
end
$fn$;

select testing.class('two', '{"abstain_budget": 2}');
select testing.verifying('parser', 'two');
select testing.clock_passes('1 minute');

set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.judge(
           p_class => 'two', p_campaign_id => testing.id('parser', 'two'), p_generation => 2,
           p_token => testing.token('verifier_1'), p_verdict => 'unverifiable',
           p_reason => 'no network') $$,
    $$ values ('ok'::text, false, true, null::text, 'two'::text, testing.id('parser', 'two'),
               2::bigint, 'attempted'::text, null::timestamptz, null::text) $$,
    'needs a reason and nothing else, and sends the campaign back to attempted'
);
reset session authorization;

select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.failure_count, c.loss_count,
              c.verification_loss_count, c.next_attempt_at, c.failure_reason, c.phase_since,
              c.evidence_uri, c.parked_for
       from testing.campaign('parser', 'two') as c $$,
    $$ values ('attempted'::text, 2::bigint, null::name, 0, 0, 0,
               '2026-09-01 03:02+00'::timestamptz, null::text, '2026-09-01 03:00+00'::timestamptz,
               'file:///evidence/patch-1'::text, null::text) $$,
    'counts nothing against the campaign, makes it wait, and leaves verify_within running'
);
select results_eq(
    $$ select a.ending, a.ended_at from testing.attempt('parser', 'two') as a $$,
    $$ values (null::text, null::timestamptz) $$,
    'ends nothing'
);
select results_eq(
    $$ select v.verdict, v.attempt_no, v.generation, v.principal, v.reason, v.fingerprint,
              v.command, v.exit_code, v.evidence_uri
       from testing.verdict('parser', 'two') as v $$,
    $$ values ('unverifiable'::text, 1, 2::bigint, 'verifier_1'::name, 'no network'::text,
               null::text, null::text, null::integer, null::text) $$,
    'records the abstention'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.holder, e.next_attempt_at,
              e.detail
       from testing.event('parser', 'two') as e $$,
    $$ values ('abstain'::text, 'verifying'::text, 'attempted'::text, 2::bigint,
               'verifier_1'::name, '2026-09-01 03:02+00'::timestamptz,
               '{"attempt": 1, "reason": "no network"}'::jsonb) $$,
    'writes the event'
);

-- == by distinct principals =======================================================================

select testing.clock_passes('1 minute');
select is(
    pg_temp.abstain('verifier_1', 'two'), 'attempted', 'counts a principal once: a second time'
);
select is(pg_temp.abstain('verifier_1', 'two'), 'attempted', 'and a third');
select is(
    (select count(*) from ledger.verdict as v where v.class = 'two'), 3::bigint,
    'though each is recorded'
);
select is(
    pg_temp.abstain('verifier_2', 'two'), 'parked',
    'parks with the second principal, of a budget of 2'
);
select results_eq(
    $$ select c.parked_for, c.generation, c.lease_principal, c.failure_count
       from testing.campaign('parser', 'two') as c $$,
    $$ values ('abstain_budget'::text, 5::bigint, null::name, 0) $$,
    'and names the budget'
);
select is(
    (testing.event('parser', 'two')).detail ->> 'parked_for', 'abstain_budget', 'in the event, too'
);
select is(
    (testing.attempt('parser', 'two')).ending, null, 'but leaves the attempt to be judged'
);

-- == redriven, the count begins anew if it is to ==================================================

select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{loss}"}', 'parser', 'two'));
select is(testing.state('parser', 'two'), 'attempted', 'goes on from attempted when redriven');
select is(
    pg_temp.abstain('verifier_1', 'two'), 'parked',
    'parks again at once where another budget was restored'
);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{abstain}"}', 'parser', 'two'));
select is(
    pg_temp.abstain('verifier_1', 'two'), 'attempted', 'counts anew where abstain was restored'
);
select is(pg_temp.abstain('verifier_2', 'two'), 'parked', 'up to the same budget');

-- == of one attempt ===============================================================================

select testing.class('one_each', '{"abstain_budget": 2}');
select testing.verifying('parser', 'one_each');
select testing.judge('unverifiable', 'parser', 'one_each');
select testing.clock_passes('1 hour');
select testing.claim_verification('parser', 'one_each');
select testing.judge('rejected', 'parser', 'one_each');
select testing.clock_passes('1 hour');
select testing.claim('parser', 'one_each');
select testing.submit('parser', 'one_each', p_fingerprint => 'patch-2');
select is(
    pg_temp.abstain('verifier_2', 'one_each'), 'attempted',
    'counts the abstentions of the attempt, not those of the one before'
);

-- == of one campaign ==============================================================================

select testing.class('neighbours', '{"abstain_budget": 2}');
select testing.verifying('lexer', 'neighbours', 'verifier_1');
select testing.judge('unverifiable', 'lexer', 'neighbours', 'verifier_1');
select testing.attempted('parser', 'neighbours');
select is(
    pg_temp.abstain('verifier_2', 'neighbours'), 'attempted', 'counts those of the campaign alone'
);

-- == an abstention is no verdict ==================================================================

select testing.claim_verification('parser', 'one_each');
select testing.judge('accepted', 'parser', 'one_each');
select is(
    testing.state('parser', 'one_each'), 'verified', 'keeps nobody from judging afterwards'
);

select testing.class('single', '{"abstain_budget": 1}');
select testing.attempted('parser', 'single');
select is(pg_temp.abstain('verifier_1', 'single'), 'parked', 'parks at once with a budget of 1');

-- It may carry evidence and a run; a digest it need not name.
select testing.verifying();
set local session authorization verifier_1;
select results_eq(
    format('select outcome, state from (%s) as j', testing.judging(
        '{"p_verdict": "unverifiable", "p_bundle_sha256": null, "p_fingerprint": null,
          "p_exit_code": 124, "p_reason": "out of time"}')),
    $$ values ('ok'::text, 'attempted'::text) $$,
    'takes what was run and where the output is'
);
reset session authorization;
select results_eq(
    $$ select v.exit_code, v.evidence_uri, v.reason from testing.verdict() as v $$,
    $$ values (124, 'file:///evidence/verdict'::text, 'out of time'::text) $$,
    'and records it'
);

-- In a class that promotes, unverifiable never moves on.
select testing.verifying('parser', 'ship');
select testing.judge('unverifiable', 'parser', 'ship');
select is(testing.state('parser', 'ship'), 'attempted', 'never advances a campaign');

select testing.clock_passes('1 day');
select testing.claim_verification('parser', 'ship');
select testing.clock_passes('1 day');
select testing.judge('unverifiable', 'parser', 'ship');
select results_eq(
    $$ select e.transition, e.is_late from testing.event('parser', 'ship') as e $$,
    $$ values ('abstain'::text, true) $$,
    'says so in the event where it came after the lease had run out'
);

select finish();
rollback;
