-- ledger.log_config records who changed what of the configuration, from and to what.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
select plan(1);

select testing.clock_is('2026-09-01 04:00+00');
select testing.by(
    'admin_1', $$ ledger.log_config('fix', 'define_class', 'fix', '{"a": 1}', '{"a": 2}') $$
);
select testing.by('admin_1', $$ ledger.log_config('', 'enrol', 'anna', null, '{"b": null}') $$);
select testing.by('admin_1', $$ ledger.log_config('fix', 'dismiss', 'anna', '{"b": 1}', null) $$);
select results_eq(
    $$ select e.class, e.action, e.subject, e.by_principal, e.before, e.after
       from ledger.config_event as e
       where e.at = testing.clock()
       order by e.config_event_no $$,
    $$ values
        ('fix', 'define_class', 'fix', 'admin_1'::name, '{"a": 1}'::jsonb, '{"a": 2}'::jsonb),
        ('', 'enrol', 'anna', 'admin_1', null, '{"b": null}'),
        ('fix', 'dismiss', 'anna', 'admin_1', '{"b": 1}', null) $$,
    'ledger.log_config writes what it was told, in the session''s name, with the kernel''s time'
);

select finish();
rollback;
