-- audit.observations shows auditors every observation, what it saw and what came of it.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(10);

select testing.is_for_auditors('observations');
select columns_are(
    'audit', 'observations',
    array['class', 'target', 'observation_no', 'principal', 'begun_at', 'slot_at',
          'seen_campaign_id', 'seen_state', 'seen_generation', 'reported_at', 'is_green',
          'summary', 'evidence_uri', 'evidence_sha256', 'note', 'moved_campaign_id'],
    'has these columns'
);

select testing.open();
select testing.clock_passes('1 hour');
select testing.observed(true, p_sensor => 'sensor_2');
select testing.must('sensor_1', testing.call('begin_observation', '{"p_class": "fix",
    "p_target": "parser", "p_token": "00000000-0000-0000-0000-000000000003"}'));
select testing.clock_passes('1 minute');
select testing.must('sensor_1', testing.call('report_observation', jsonb_build_object(
    'p_class', 'fix', 'p_target', 'parser', 'p_number', 3, 'p_is_green', false,
    'p_token', '00000000-0000-0000-0000-000000000003', 'p_summary', 'two tests are red',
    'p_evidence_uri', 'file:///evidence/3', 'p_evidence_sha256', sha256('seen'))));
select testing.must('sensor_1', testing.call('begin_observation', '{"p_class": "fix",
    "p_target": "parser", "p_token": "00000000-0000-0000-0000-000000000004"}'));

set local session authorization auditor_1;
select results_eq(
    $$ select observation_no, principal, begun_at, slot_at, seen_campaign_id is not null,
              seen_state, seen_generation, reported_at, is_green, note,
              moved_campaign_id is not null
       from audit.observations where class = 'fix' and target = 'parser' order by observation_no $$,
    $$ values (1::bigint, 'sensor_1'::name, '2026-09-01 03:00+00'::timestamptz,
               '2026-09-01 03:00+00'::timestamptz, false, null::text, null::bigint,
               '2026-09-01 03:00+00'::timestamptz, false, 'open'::text, true),
              (2, 'sensor_2', '2026-09-01 04:00+00', null, true, 'ready', 0,
               '2026-09-01 04:00+00', true, 'not_scheduled', false),
              (3, 'sensor_1', '2026-09-01 04:00+00', null, true, 'ready', 0,
               '2026-09-01 04:01+00', false, 'in_progress', false),
              (4, 'sensor_1', '2026-09-01 04:01+00', null, true, 'ready', 0, null, null, null,
               false) $$,
    'shows who looked when, in which slot, what was open then, what was found, and what came of it'
);
select results_eq(
    $$ select summary, evidence_uri, evidence_sha256 from audit.observations
       where observation_no = 3 $$,
    $$ values ('two tests are red'::text, 'file:///evidence/3'::text, sha256('seen')) $$,
    'and where the evidence is'
);
select throws_ok(
    $$ update audit.observations set is_green = true $$, '42501', null, 'is no way to write'
);
select throws_ok(
    $$ select * from ledger.observation $$, '42501', null, 'nor to the table behind it'
);
reset session authorization;
select testing.shows_no_token('observations');

select finish();
rollback;
