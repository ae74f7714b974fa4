-- audit.authorities shows auditors what external operations each class allows.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
\ir ../_support/operation.psql
select plan(8);

select testing.is_for_auditors('authorities');
select columns_are(
    'audit', 'authorities',
    array['class', 'duty', 'kind', 'target', 'is_standalone', 'attempt_limit', 'granted_at',
          'granted_by'],
    'has these columns'
);
select testing.authorised('git.push', '{repository}#refs/x/*', 'fix', 'worker', false, 3);
set local session authorization auditor_1;
select results_eq(
    $$ select * from audit.authorities where class = 'fix' order by kind $$,
    $$ values ('fix'::text, 'worker'::text, 'git.push'::text, '{repository}#refs/x/*'::text, false,
               3, '2026-09-01 03:00+00'::timestamptz, 'admin_1'::name),
              ('fix', 'verifier', 'promote', '*', false, null, '2026-09-01 03:00+00',
               'admin_1') $$,
    'shows each, who granted it and when'
);
select throws_ok($$ delete from audit.authorities $$, '42501', null, 'is no way to write');
select throws_ok($$ select * from ledger.authority $$, '42501', null, 'nor to the table behind it');
reset session authorization;

select finish();
rollback;
