-- audit.enrolments shows auditors who may act in which class, for which duty, of which family.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(9);

select testing.is_for_auditors('enrolments');
select columns_are(
    'audit', 'enrolments',
    array['class', 'duty', 'principal', 'principal_oid', 'family', 'enrolled_at', 'enrolled_by'],
    'has these columns'
);

set local session authorization auditor_1;
select results_eq(
    $$ select duty, principal, principal_oid = principal::text::regrole, family, enrolled_at,
              enrolled_by
       from audit.enrolments where class = 'fix' order by duty, principal $$,
    $$ values ('sensor'::text, 'sensor_1'::name, true, null::text,
               '2026-09-01 03:00+00'::timestamptz, 'admin_1'::name),
              ('sensor', 'sensor_2', true, null, '2026-09-01 03:00+00', 'admin_1'),
              ('verifier', 'verifier_1', true, 'south', '2026-09-01 03:00+00', 'admin_1'),
              ('verifier', 'verifier_2', true, 'north', '2026-09-01 03:00+00', 'admin_1'),
              ('worker', 'worker_1', true, 'north', '2026-09-01 03:00+00', 'admin_1'),
              ('worker', 'worker_2', true, 'south', '2026-09-01 03:00+00', 'admin_1') $$,
    'shows every enrolment of a class, by whom it was made, and the family that was registered'
);
reset session authorization;
select testing.must('admin_1', testing.call('dismiss', '{"p_class": "fix",
    "p_principal": "worker_1", "p_duty": "worker"}'));
set local session authorization auditor_1;
select is_empty(
    $$ select from audit.enrolments where class = 'fix' and principal = 'worker_1' $$,
    'and none that was ended'
);
select throws_ok($$ delete from audit.enrolments $$, '55000', null, 'is no way to write');
select throws_ok($$ select * from ledger.enrolment $$, '42501', null, 'nor to the table behind it');
reset session authorization;

select finish();
rollback;
