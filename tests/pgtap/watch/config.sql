-- audit.config shows auditors who changed what of the configuration, from and to what.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(11);

select testing.is_for_auditors('config');
select columns_are(
    'audit', 'config',
    array['class', 'config_event_no', 'action', 'subject', 'by_principal', 'at', 'before', 'after'],
    'has these columns'
);

-- Each function that changes the configuration, once.
select testing.class('new');
select testing.clock_passes('1 hour');
select max(f.config_event_no) as before from ledger.config_event as f \gset
select testing.must('admin_1', c.call)
from (values
    (1, testing.call('define_class', '{"p_class": "new", "p_policy": {"seats": 2}}')),
    (2, testing.call('define_target', '{"p_class": "new", "p_target": "parser", "p_location": {},
        "p_desired_state": {}, "p_acceptance": {"command": ["true"]}}')),
    (3, testing.call('register_principal', '{"p_principal": "worker_1", "p_family": "east"}')),
    (4, testing.call('dismiss', '{"p_class": "new", "p_principal": "worker_1",
                                  "p_duty": "worker"}')),
    (5, testing.call('enrol', '{"p_class": "new", "p_principal": "worker_1",
                                "p_duty": "worker"}')),
    (6, testing.call('pause', '{"p_class": "new", "p_reason": "wait"}')),
    (7, testing.call('resume', '{"p_class": "new"}')),
    (8, testing.call('new_epoch', jsonb_build_object(
        'p_class', 'new', 'p_token', testing.token('lost')))),
    (9, testing.call('authorise', '{"p_class": "new", "p_duty": "worker", "p_kind": "git.push",
                                    "p_target": "x*"}')),
    (10, testing.call('deauthorise', '{"p_class": "new", "p_duty": "worker", "p_kind": "git.push",
                                       "p_target": "x*"}')),
    (11, testing.call('retire_target', '{"p_class": "new", "p_target": "parser"}')),
    (12, testing.call('retire_class', '{"p_class": "new"}'))
) as c (place, call) order by c.place;

set local session authorization auditor_1;
select results_eq(
    format($$ select class, action, subject, by_principal, at, before is not null, after is not null
              from audit.config where config_event_no > %s order by config_event_no $$, :before),
    $$ values
           ('new'::text, 'define_class'::text, 'new'::text, 'admin_1'::name,
            '2026-09-01 04:00+00'::timestamptz, true, true),
           ('new', 'define_target', 'parser', 'admin_1', '2026-09-01 04:00+00', false, true),
           ('', 'register_principal', 'worker_1', 'admin_1', '2026-09-01 04:00+00', true, true),
           ('new', 'dismiss', 'worker_1', 'admin_1', '2026-09-01 04:00+00', true, false),
           ('new', 'enrol', 'worker_1', 'admin_1', '2026-09-01 04:00+00', false, true),
           ('new', 'pause', 'new', 'admin_1', '2026-09-01 04:00+00', true, true),
           ('new', 'resume', 'new', 'admin_1', '2026-09-01 04:00+00', true, true),
           ('new', 'new_epoch', 'new', 'admin_1', '2026-09-01 04:00+00', true, true),
           ('new', 'authorise', 'worker git.push x*', 'admin_1', '2026-09-01 04:00+00', false,
            true),
           ('new', 'deauthorise', 'worker git.push x*', 'admin_1', '2026-09-01 04:00+00', true,
            false),
           ('new', 'retire_target', 'parser', 'admin_1', '2026-09-01 04:00+00', true, true),
           ('new', 'retire_class', 'new', 'admin_1', '2026-09-01 04:00+00', true, true) $$,
    'shows every change, of whatever function, by whom'
);
select results_eq(
    format($$ select before ->> 'seats', after ->> 'seats' from audit.config
              where config_event_no > %s and action = 'define_class' $$, :before),
    $$ values (null::text, '2'::text) $$, 'from and to what'
);
select results_eq(
    format($$ select before ->> 'family', after ->> 'family' from audit.config
              where config_event_no > %s and action = 'register_principal' $$, :before),
    $$ values ('north'::text, 'east'::text) $$, 'a family too'
);
reset session authorization;
select is_empty(
    $$ select p.proname
       from pg_proc as p
       where p.pronamespace = 'kernel'::regnamespace
         and has_function_privilege('fencepost_admin', p.oid, 'execute')
         and p.prosrc ~ ('(insert into|update|delete from) '
                         'ledger[.](class|target|principal|enrolment|authority)\M')
         and p.prosrc !~ 'ledger[.](log_config|set_paused)\M'
         -- quiet_until, which the event of the cancellation says
         and p.proname <> 'cancel' $$,
    'no function of an admin changes the configuration and leaves that out'
);
set local session authorization auditor_1;
select throws_ok($$ delete from audit.config $$, '42501', null, 'is no way to write');
select throws_ok(
    $$ select * from ledger.config_event $$, '42501', null, 'nor to the table behind it'
);
reset session authorization;

select finish();
rollback;
