-- audit.bundles shows auditors every bundle that was judged, with its digest.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(10);

select testing.is_for_auditors('bundles', 'content', 'sha256');
select columns_are(
    'audit', 'bundles',
    array['class', 'campaign_id', 'attempt_no', 'content', 'sha256', 'made_at'],
    'has these columns'
);

select testing.verifying();
select testing.judge('rejected');
select testing.clock_passes('1 hour');
select testing.claim();
select testing.submit(p_fingerprint => 'patch-2');
select testing.promoting('lexer', 'ship');

set local session authorization auditor_1;
select results_eq(
    $$ select class, campaign_id, attempt_no, made_at from audit.bundles
       order by class, campaign_id, attempt_no $$,
    $$ values ('fix'::text, testing.id(), 1, '2026-09-01 03:00+00'::timestamptz),
              ('ship', testing.id('lexer', 'ship'), 1, '2026-09-01 04:00+00') $$,
    'shows the bundle of each attempt that a verifier has taken, and when it was made'
);
select is(
    (select content from audit.bundles where class = 'fix'),
    jsonb_build_object(
        'class', 'fix', 'campaign_id', testing.id(), 'attempt_no', 1, 'target', 'parser',
        'location', '{"repository": "/srv/parser.git", "ref": "refs/heads/main"}'::jsonb,
        'desired_state', '{"tests": "green"}'::jsonb,
        'acceptance', '{"command": ["make", "test"], "protected": ["tests"],
                        "time_limit_s": 600}'::jsonb,
        'result', '{"base": "base-1", "commit": "commit-of-patch-1"}'::jsonb,
        'fingerprint', 'patch-1'),
    'with what was judged'
);
select is(
    (select sha256 from audit.bundles where class = 'fix'),
    (select sha256(convert_to(content::text, 'UTF8')) from audit.bundles where class = 'fix'),
    'and its digest, which anybody can make again'
);
select throws_ok($$ delete from audit.bundles $$, '42501', null, 'is no way to write');
select throws_ok($$ select * from ledger.bundle $$, '42501', null, 'nor to the table behind it');
reset session authorization;

select finish();
rollback;
