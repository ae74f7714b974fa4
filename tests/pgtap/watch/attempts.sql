-- audit.attempts shows auditors every attempt with its verdict, without its token.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(12);

select testing.is_for_auditors('attempts');
select columns_are(
    'audit', 'attempts',
    array['class', 'campaign_id', 'attempt_no', 'generation', 'principal', 'family', 'label',
          'begun_at', 'submitted_at', 'fingerprint', 'approach', 'result', 'evidence_uri',
          'evidence_sha256', 'ended_at', 'ending', 'reason', 'verdict', 'verdict_by', 'verdict_at',
          'exit_code', 'verdict_reason', 'promoted_at', 'promoted_by'],
    'has these columns'
);

select testing.open('parser', 'ship');
select testing.must('worker_2', $$ select * from kernel.claim(
    p_class => 'ship', p_token => testing.token('worker_2'), p_label => 'w2@host') $$);
select testing.must('worker_2', testing.holding(
    'fail', '{"p_reason": "nothing helped", "p_approach": "by hand", "p_fingerprint": "patch-0"}',
    'parser', 'ship'));
select testing.clock_passes('1 minute');
select testing.claim('parser', 'ship');
select testing.submit('parser', 'ship');
select testing.claim_verification('parser', 'ship');
select testing.judge('unverifiable', 'parser', 'ship');
select testing.clock_passes('1 minute');
select testing.claim_verification('parser', 'ship');
select testing.judge('rejected', 'parser', 'ship');
select testing.clock_passes('2 minutes');
select testing.claim('parser', 'ship');
select testing.submit('parser', 'ship', p_fingerprint => 'patch-2');
select testing.claim_verification('parser', 'ship');
select testing.judge('accepted', 'parser', 'ship', p_reason => 'all green');
select testing.clock_passes('1 minute');
select testing.moved();
select testing.must('verifier_1', testing.promotion());
select testing.leased('lexer', 'fix');
select testing.class('moved', '{"promotes": true}');
select testing.promoting('parser', 'moved');
select testing.must('verifier_1', testing.holding(
    'outdate', '{"p_reason": "moved"}', 'parser', 'moved'));

set local session authorization auditor_1;
select results_eq(
    $$ select class, attempt_no, generation, principal, family, label, begun_at, submitted_at,
              fingerprint, approach, ending, ended_at, reason
       from audit.attempts where class in ('ship', 'fix') order by class desc, attempt_no $$,
    $$ values ('ship'::text, 1, 1::bigint, 'worker_2'::name, 'south'::text, 'w2@host'::text,
               '2026-09-01 03:00+00'::timestamptz, null::timestamptz, 'patch-0'::text,
               'by hand'::text, 'failed'::text, '2026-09-01 03:00+00'::timestamptz,
               'nothing helped'::text),
              ('ship', 2, 2, 'worker_1', 'north', null, '2026-09-01 03:01+00',
               '2026-09-01 03:01+00', 'patch-1', 'by patch-1', 'rejected', '2026-09-01 03:02+00',
               'a test is red'),
              ('ship', 3, 5, 'worker_1', 'north', null, '2026-09-01 03:04+00',
               '2026-09-01 03:04+00', 'patch-2', 'by patch-2', null, null, null),
              ('fix', 1, 1, 'worker_1', 'north', null, '2026-09-01 03:05+00', null, null, null,
               null,
               null, null) $$,
    'shows every attempt: by whom, what was tried, how it ended and why'
);
select results_eq(
    $$ select attempt_no, verdict, verdict_by, verdict_at, exit_code, verdict_reason, promoted_at,
              promoted_by
       from audit.attempts where class = 'ship' order by attempt_no $$,
    $$ values (1, null::text, null::name, null::timestamptz, null::integer, null::text,
               null::timestamptz, null::name),
              (2, 'rejected', 'verifier_1', '2026-09-01 03:02+00', 2, 'a test is red', null, null),
              (3, 'accepted', 'verifier_1', '2026-09-01 03:04+00', 0, 'all green',
               '2026-09-01 03:05+00', 'verifier_1') $$,
    'with the verdict, which an abstention is not, and the promotion'
);
select results_eq(
    $$ select verdict, ending, promoted_at, promoted_by
       from audit.attempts where class = 'moved' $$,
    $$ values ('accepted'::text, 'outdated'::text, null::timestamptz, null::name) $$,
    'names no promoter of what was outdated'
);
select results_eq(
    $$ select result, evidence_uri, evidence_sha256 from audit.attempts where attempt_no = 3 $$,
    $$ values ('{"base": "base-1", "commit": "commit-of-patch-2"}'::jsonb,
               'file:///evidence/patch-2'::text, sha256('evidence')) $$,
    'with the worker''s result and evidence'
);
select is((select count(*) from audit.attempts), 5::bigint, 'each once, abstentions or not');
select throws_ok($$ select * from ledger.verdict $$, '42501', null, 'nor to the table behind it');
reset session authorization;
select testing.shows_no_token('attempts');

select finish();
rollback;
