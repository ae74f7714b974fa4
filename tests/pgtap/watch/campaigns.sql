-- audit.campaigns shows auditors every campaign as it stands, without its holder's token.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(11);

select testing.is_for_auditors('campaigns');
select columns_are(
    'audit', 'campaigns',
    array['class', 'campaign_id', 'target', 'state', 'generation', 'priority', 'opened_at',
          'opened_by', 'opening_observation', 'previous_campaign_id', 'desired_state', 'acceptance',
          'promotes', 'separate_family', 'needs_evidence', 'lease_principal', 'lease_label',
          'lease_granted_at', 'lease_expires_at', 'attempt_count', 'failure_count', 'loss_count',
          'release_count', 'verification_loss_count', 'promotion_loss_count', 'next_attempt_at',
          'failure_reason', 'parked_for', 'evidence_uri', 'evidence_sha256', 'phase_since',
          'closed_at', 'event_count'],
    'has these columns'
);

select testing.open();
select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'fix', p_token => testing.token('worker_1'), p_label => 'w1@host') $$);
select testing.promoting('parser', 'ship');
select testing.must('admin_1', $$ select * from kernel.define_target(
    p_class => 'fix', p_target => 'lexer', p_location => '{}', p_desired_state => '{}',
    p_acceptance => '{"command": ["true"]}') $$);
select testing.must('admin_1', $$ select * from kernel.open_campaign(
    p_class => 'fix', p_target => 'lexer', p_token => testing.token('opening')) $$);

set local session authorization auditor_1;
select results_eq(
    $$ select class, target, state, generation, opened_by, opening_observation, promotes,
              lease_principal, lease_label, lease_granted_at, lease_expires_at, attempt_count,
              next_attempt_at, phase_since, closed_at, event_count
       from audit.campaigns order by class, campaign_id $$,
    $$ values ('fix'::text, 'parser'::text, 'leased'::text, 1::bigint, 'sensor_1'::name, 1::bigint,
               false, 'worker_1'::name, 'w1@host'::text, '2026-09-01 03:00+00'::timestamptz,
               '2026-09-01 03:15+00'::timestamptz, 1, '2026-09-01 03:00+00'::timestamptz,
               '2026-09-01 03:00+00'::timestamptz, null::timestamptz, 2::bigint),
              ('fix', 'lexer', 'ready', 0, 'admin_1', null, false, null, null, null, null, 0,
               '2026-09-01 03:00+00', '2026-09-01 03:00+00', null, 1),
              ('ship', 'parser', 'promoting', 2, 'sensor_1', 1, true, 'verifier_1', null,
               '2026-09-01 03:00+00', '2026-09-01 03:15+00', 1, '2026-09-01 03:00+00',
               '2026-09-01 03:00+00', null, 5) $$,
    'shows every campaign of every class, with who holds it and when it is due'
);
select results_eq(
    $$ select desired_state, acceptance -> 'command', evidence_uri, evidence_sha256
       from audit.campaigns where class = 'ship' $$,
    $$ values ('{"tests": "green"}'::jsonb, '["make", "test"]'::jsonb,
               'file:///evidence/verdict'::text, sha256('verdict')) $$,
    'what should be, what must pass, and where the evidence is'
);
reset session authorization;
select testing.shows_no_token('campaigns');

select testing.must('worker_1', testing.holding('fail', '{"p_reason": "nothing helped"}'));
select testing.must('admin_1', testing.on_campaign('park'));
set local session authorization auditor_1;
select results_eq(
    $$ select state, failure_count, failure_reason, parked_for, lease_principal
       from audit.campaigns where class = 'fix' and target = 'parser' $$,
    $$ values ('parked'::text, 1, 'nothing helped'::text, 'admin'::text, null::name) $$,
    'what went wrong and why it waits: budgets and reasons are visible'
);
select throws_ok(
    $$ update audit.campaigns set state = 'confirmed' $$, '42501', null, 'is no way to write'
);
select throws_ok($$ select * from ledger.campaign $$, '42501', null, 'nor to the table behind it');
reset session authorization;

select finish();
rollback;
