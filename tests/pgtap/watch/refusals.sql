-- audit.refusals shows auditors every call that was not carried out, and what the server denied.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(13);

select testing.is_for_auditors('refusals');
select columns_are(
    'audit', 'refusals',
    array['source', 'class', 'refusal_no', 'principal', 'function', 'outcome', 'campaign_id',
          'generation', 'message', 'at', 'suppressed', 'command', 'application', 'raised_in',
          'session_id', 'line_no', 'reported_at', 'reported_by'],
    'has these columns'
);

select testing.promoting('parser', 'ship');
select testing.act('worker_1', testing.holding(
    'renew', jsonb_build_object('p_generation', 1, 'p_token', testing.token('worker_1')),
    'parser', 'ship')) ->> 'outcome';
select testing.clock_passes('1 minute');
select testing.act('verifier_1', testing.promotion()) ->> 'outcome';
select testing.act('verifier_elsewhere', testing.promotion()) ->> 'outcome';

set local session authorization auditor_1;
select results_eq(
    $$ select source, class, principal, function, outcome, campaign_id, generation, message, at,
              suppressed
       from audit.refusals order by refusal_no $$,
    $$ select 'kernel'::text, 'ship'::text, 'worker_1'::name, 'renew'::text, 'stale'::text,
              testing.id('parser', 'ship'), 1::bigint,
              'generation 1 is not the campaign''s present one, 2'::text,
              '2026-09-01 03:00+00'::timestamptz, 0::bigint
       union all
       select 'kernel', 'ship', 'verifier_1', 'promote', 'no_evidence',
              testing.id('parser', 'ship'), 2,
              'no completed operation has moved the result to its target', '2026-09-01 03:01+00', 0
       union all
       select 'kernel', 'ship', 'verifier_elsewhere', 'promote', 'forbidden', null, null,
              'this principal may not do this here', '2026-09-01 03:01+00', 0 $$,
    'shows who asked for what, under which generation, and why it was not done'
);
reset session authorization;

-- More than 60 of one principal in a minute are counted.
select count(testing.act('verifier_2', testing.promotion('{}'))) from generate_series(1, 65) as n;
set local session authorization auditor_1;
select is(
    (select count(*) from audit.refusals where principal = 'verifier_2'), 60::bigint,
    'shows 60 of one principal in a minute'
);
select is(
    (select suppressed from audit.refusals where principal = 'verifier_2'
     order by refusal_no desc limit 1),
    5::bigint, 'and how many there were beyond, beside the newest'
);
reset session authorization;
select testing.act('collector_1',
    $$ select * from kernel.report_denial('6a9632e4.1f', 3, '2026-09-01 03:00:30+00', 'worker_1',
                                          '42501', 'permission denied for table campaign', 'UPDATE',
                                          'psql', 'aclcheck_error') $$) -> 'note';
set local session authorization auditor_1;
select results_eq(
    $$ select class, principal, function, outcome, campaign_id, generation, message, at, suppressed,
              command, application, raised_in, session_id, line_no, reported_at,
              reported_by
       from audit.refusals where source = 'server' $$,
    $$ values (null::text, 'worker_1'::name, null::text, '42501'::text, null::bigint, null::bigint,
               'permission denied for table campaign'::text, '2026-09-01 03:00:30+00'::timestamptz,
               0::bigint, 'UPDATE'::text, 'psql'::text, 'aclcheck_error'::text, '6a9632e4.1f'::text,
               3::bigint, '2026-09-01 03:01+00'::timestamptz, 'collector_1'::name) $$,
    'and beside them what the server denied, and where its log says so'
);
select is(
    (select array_agg(source || ' ' || outcome order by at) from audit.refusals
     where principal = 'worker_1'),
    array['kernel stale', 'server 42501'], 'in one view, in the order of time'
);
select throws_ok(
    $$ delete from audit.refusals $$, '55000', null, 'is no way to write'
);
select throws_ok($$ select * from ledger.refusal $$, '42501', null, 'nor to the table behind it');
reset session authorization;
select testing.shows_no_token('refusals');

select finish();
rollback;
