-- kernel.health looks over every class and the server: each subject well, and not well.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(71);

select testing.callable_by('kernel.health', 'admin', 'auditor');

create function testing.health_of(p_class text, p_subject text)
    returns text
    language sql
as $fn$
    select concat_ws(' ', trim_scale((h ->> 'quantity')::numeric)::text,
                     case h -> 'is_well' when 'true' then 'well' else 'not well' end)
    from testing.act('auditor_1', format(
        'select * from kernel.health() where class is not distinct from %L and subject = %L',
        p_class, p_subject)) as h
$fn$;

comment on function testing.health_of(text, text) is
    '"0 well", "2 not well"; null where it is not shown.';

create function testing.says(p_class text, p_subject text)
    returns text
    language sql
as $fn$
    select testing.act('auditor_1', format(
        'select message from kernel.health() where class is not distinct from %L and subject = %L',
        p_class, p_subject)) ->> 'message'
$fn$;

create function testing.reaped(p_class text)
    returns void
    language sql
as $fn$
    select testing.act('reaper_1', testing.call('reap', jsonb_build_object('p_class', p_class)))
$fn$;

-- == what it looks at =============================================================================

set local session authorization auditor_1;
select results_eq(
    $$ select class, subject from kernel.health() where class in ('fix', 'ship')
       order by class, subject $$,
    $$ select c.class, s.subject
       from (values ('fix'), ('ship')) as c (class)
       cross join unnest(array['expired_leases', 'expired_operations', 'locked_leases',
                               'overdue_observations', 'parked_campaigns',
                               'reaper_last_pass_s', 'unjudgeable_campaigns',
                               'unknown_operations']) as s (subject)
       order by c.class, s.subject $$,
    'looks at these in every class'
);
select results_eq(
    $$ select subject from kernel.health() where class is null order by subject $$,
    $$ values ('collector_sessions'::text), ('dead_rows'), ('notification_queue_share'),
              ('oldest_snapshot_s'), ('oldest_snapshot_xids') $$,
    'and at these of the server'
);
select is_empty(
    $$ select * from kernel.health()
       where subject is null or is_well is null or message is null or message = '' $$,
    'says of each whether it is well, and what to do'
);
select is_empty(
    $$ select class, subject from kernel.health() where class is not null and not is_well $$,
    'a ledger in which nothing is open is well'
);
reset session authorization;

-- == the reaper's last pass =======================================================================

select is(
    testing.health_of('fix', 'reaper_last_pass_s'), 'well',
    'that no reaper ever passed is well while nothing waits for one'
);
select testing.open();
select is(
    testing.health_of('fix', 'reaper_last_pass_s'), 'well', 'as it is with a campaign ready'
);
select testing.claim();
select is(
    testing.health_of('fix', 'reaper_last_pass_s'), 'not well',
    'and not with a lease, though it has not run out'
);
select testing.reaped('fix');
select is(testing.health_of('fix', 'reaper_last_pass_s'), '0 well', 'a reaper has passed');
select testing.clock_passes('9 minutes 59 seconds');
select is(
    testing.health_of('fix', 'reaper_last_pass_s'), '599 well', 'less than ten minutes ago'
);
select testing.clock_passes('1 second');
select is(testing.health_of('fix', 'reaper_last_pass_s'), '600 not well', 'ten minutes ago');
select testing.reaped('ship');
select is(
    testing.health_of('fix', 'reaper_last_pass_s'), '600 not well', 'a pass in another class'
);
create role reaper_2 login;
grant fencepost_reaper to reaper_2;
select testing.act('reaper_2', testing.call('reap', '{"p_class": "fix"}'));
select is(
    testing.health_of('fix', 'reaper_last_pass_s'), '0 well', 'any reaper''s pass is one'
);
select testing.class('s_' || s.state, '{"promotes": true}')
from unnest(array['attempted', 'verifying', 'accepted', 'promoting', 'verified', 'parked',
                  'confirmed']) as s (state);
select testing.attempted('parser', 's_attempted');
select testing.verifying('parser', 's_verifying');
select testing.promoting('parser', 's_promoting');
select testing.verified('parser', 's_verified');
select testing.parked('parser', 's_parked');
select testing.accepted('parser', 's_accepted');
-- As if no reaper had passed, not even the one that left "s_accepted" waiting.
alter table ledger.reaper_pass disable trigger reaper_pass_10_not_by_hand;
delete from ledger.reaper_pass;
select is(
    testing.health_of('s_' || s.state, 'reaper_last_pass_s'), s.expected,
    format('a campaign %s %s a reaper', s.state, case s.expected when 'well' then 'does without'
                                                  else 'waits for' end)
)
from (values
    ('attempted', 'not well'), ('verifying', 'not well'), ('accepted', 'not well'),
    ('promoting', 'not well'), ('verified', 'well'), ('parked', 'well')
) as s (state, expected);

-- == expired leases ===============================================================================

select testing.class('expired');
select testing.leased('one', 'expired');
select testing.leased('two', 'expired', 'worker_2');
select is(testing.health_of('expired', 'expired_leases'), '0 well', 'leases that have not run out');
select testing.clock_passes('15 minutes');
select is(testing.health_of('expired', 'expired_leases'), '2 well', 'that have just run out');
select testing.clock_passes('9 minutes 59 seconds');
select is(testing.health_of('expired', 'expired_leases'), '2 well', 'not long ago');
select testing.clock_passes('1 second');
select is(testing.health_of('expired', 'expired_leases'), '2 not well', 'ten minutes ago');
select testing.must('worker_1', testing.holding('renew', '{}', 'one', 'expired'));
select is(testing.health_of('expired', 'expired_leases'), '1 not well', 'one of them was renewed');
select testing.reaped('expired');
select is(testing.health_of('expired', 'expired_leases'), '0 well', 'the other was taken back');

-- == expired and locked ===========================================================================

-- Only another session can lock one; what the reaper then notes is written by hand here.
select testing.class('locked');
select testing.leased('parser', 'locked');
select testing.clock_passes('15 minutes');
insert into ledger.reaper_pass (class, principal, passed_at, reaped_count, locked_count)
values ('locked', 'reaper_1', testing.clock(), 0, 1);
select is(
    testing.health_of('locked', 'locked_leases'), '1 well', 'a lease was locked as it ran out'
);
select testing.clock_passes('1 minute');
update ledger.reaper_pass set passed_at = testing.clock() where class = 'locked';
select is(testing.health_of('locked', 'locked_leases'), '1 not well', 'and a minute later still');
select testing.reaped('locked');
select is(testing.health_of('locked', 'locked_leases'), '0 well', 'a pass that finds none locked');
select is(
    (select r.locked_count from ledger.reaper_pass as r where r.class = 'locked'), 0,
    'forgets those of the pass before'
);
insert into ledger.reaper_pass (class, principal, passed_at, reaped_count, locked_count)
values ('locked', 'reaper_2', testing.clock() - interval '1 hour', 0, 7);
select is(
    testing.health_of('locked', 'locked_leases'), '0 well',
    'the newest pass counts, whoever made it'
);

-- == overdue observations =========================================================================

select testing.class('late');
select testing.clock_is('2026-10-01 03:00+00');
select testing.target_in('one', 'late', '{"observe_every": "1 hour",
                                           "observe_within": "10 minutes"}');
select testing.target_in('two', 'late', '{"observe_every": "1 hour",
                                           "observe_within": "20 minutes"}');
select testing.clock_passes('9 minutes 59 seconds');
select is(
    testing.health_of('late', 'overdue_observations'), '0 well', 'slots that are not yet late'
);
select testing.clock_passes('1 second');
select is(
    testing.health_of('late', 'overdue_observations'), '1 not well',
    'a slot that nobody has reported within observe_within'
);
select matches(testing.says('late', 'overdue_observations'), 'Of these: one$', 'is named');
select testing.clock_passes('10 minutes');
select is(testing.health_of('late', 'overdue_observations'), '2 not well', 'and another');
select matches(testing.says('late', 'overdue_observations'), 'Of these: one, two$', 'both named');
select testing.act('sensor_1', testing.call('begin_observation', '{"p_class": "late",
    "p_target": "one", "p_token": "00000000-0000-0000-0000-000000000001"}')) ->> 'number' as n;
select is(
    testing.health_of('late', 'overdue_observations'), '2 not well', 'begun is not reported'
);
select testing.clock_passes('10 minutes');
select testing.observed(true, 'one', 'late');
select is(testing.health_of('late', 'overdue_observations'), '1 not well', 'reported it is well');
select testing.must('admin_1', testing.call('retire_target', '{"p_class": "late",
    "p_target": "two"}'));
select is(
    testing.health_of('late', 'overdue_observations'), '0 well', 'and so is what was retired'
);

-- == parked =======================================================================================

select testing.class('parking');
select is(testing.health_of('parking', 'parked_campaigns'), '0 well', 'nothing parked');
select testing.parked('p' || n, 'parking') from generate_series(1, 7) as n;
select is(
    testing.health_of('parking', 'parked_campaigns'), '7 not well', 'what waits for a person'
);
select is(
    substring(testing.says('parking', 'parked_campaigns') from 'Of these: (.*)$'),
    (select string_agg(testing.id('p' || n, 'parking')::text, ', ' order by n)
     from generate_series(1, 5) as n),
    'up to five are named'
);

-- == unjudgeable ==================================================================================

select testing.class('judged', '{"promotes": true}');
select testing.attempted('parser', 'judged');
select is(
    testing.health_of('judged', 'unjudgeable_campaigns'), '0 well',
    'an attempt that two verifiers may judge'
);
select testing.must('admin_1', testing.call('dismiss', '{"p_class": "judged",
    "p_principal": "verifier_1", "p_duty": "verifier"}'));
select is(testing.health_of('judged', 'unjudgeable_campaigns'), '0 well', 'that one may');
select testing.must('admin_1', testing.call('dismiss', '{"p_class": "judged",
    "p_principal": "verifier_2", "p_duty": "verifier"}'));
select is(testing.health_of('judged', 'unjudgeable_campaigns'), '1 not well', 'that nobody may');
select matches(
    testing.says('judged', 'unjudgeable_campaigns'),
    'Of these: ' || testing.id('parser', 'judged') || '$', 'is named'
);
-- Not one that may: the worker itself, a member of it, another worker that is enrolled as nothing
-- else, a verifier out of its group.
create role worker_and_judge login;
grant fencepost_verifier to worker_1, worker_2, worker_and_judge;
grant worker_1 to worker_and_judge;
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'worker_and_judge') $$);
select testing.must('admin_1', testing.call('enrol', jsonb_build_object(
    'p_class', 'judged', 'p_principal', r.role, 'p_duty', 'verifier')))
from unnest(array['worker_1', 'worker_and_judge', 'verifier_2']) as r (role);
revoke fencepost_verifier from verifier_2;
select is(
    testing.health_of('judged', 'unjudgeable_campaigns'), '1 not well',
    'nor may its worker, nor a member of that, nor another worker, nor whose group was taken away'
);
grant fencepost_verifier to verifier_2;
select is(
    testing.health_of('judged', 'unjudgeable_campaigns'), '0 well', 'until it was given back'
);
select testing.claim_verification('parser', 'judged', 'verifier_2');
select testing.judge('accepted', 'parser', 'judged', 'verifier_2');
select testing.clock_passes('15 minutes');
select testing.reaped('judged');
select is(testing.state('parser', 'judged'), 'accepted', 'accepted, and its promotion lost');
select is(testing.health_of('judged', 'unjudgeable_campaigns'), '0 well', 'one may promote it');
select testing.must('admin_1', testing.call('dismiss', '{"p_class": "judged",
    "p_principal": "verifier_2", "p_duty": "verifier"}'));
select is(
    testing.health_of('judged', 'unjudgeable_campaigns'), '1 not well', 'nobody may promote it'
);
select testing.class('family', '{"separate_family": true}');
select testing.attempted('parser', 'family');
select is(
    testing.health_of('family', 'unjudgeable_campaigns'), '0 well', 'a verifier of another family'
);
select testing.must('admin_1', testing.call('dismiss', '{"p_class": "family",
    "p_principal": "verifier_1", "p_duty": "verifier"}'));
select is(
    testing.health_of('family', 'unjudgeable_campaigns'), '1 not well',
    'and none but of the worker''s own'
);

-- == the server ===================================================================================

set local session authorization auditor_1;
select results_eq(
    $$ select h.subject, h.quantity >= 0 from kernel.health() as h
       where h.class is null and h.subject <> 'oldest_snapshot_s' order by h.subject $$,
    $$ values ('collector_sessions'::text, true), ('dead_rows', true),
              ('notification_queue_share', true), ('oldest_snapshot_xids', true) $$,
    'is looked at'
);
reset session authorization;
select is(
    (select string_agg(format('%s %s', trim_scale(h.quantity), h.is_well), ', '
                       order by h.subject)
     from ledger.server_health(
         s.oldest_s, s.oldest_xids, s.dead, s.live, s.queue, 0, 0, null) as h
     where h.subject <> 'collector_sessions'),
    s.expected, s.what
)
from (values
    (1, 599.9, 999999.0, 10100.0, 100.0, 0.49,
     '10100 t, 0.49 t, 599.9 t, 999999 t', 'all is well just before'),
    (2, 600.0, 999999.0, 10100.0, 100.0, 0.49,
     '10100 t, 0.49 t, 600 f, 999999 t', 'a transaction of ten minutes is not'),
    (3, 599.9, 1000000.0, 10100.0, 100.0, 0.49,
     '10100 t, 0.49 t, 599.9 t, 1000000 f', 'a snapshot of a million transactions ago'),
    (4, 599.9, 999999.0, 10101.0, 100.0, 0.49,
     '10101 f, 0.49 t, 599.9 t, 999999 t', 'more dead rows than live ones and some'),
    (5, 599.9, 999999.0, 10100.0, 100.0, 0.5,
     '10100 t, 0.5 f, 599.9 t, 999999 t', 'a queue half full'),
    (6, null, null, 0.0, 0.0, 0.0, '0 t, 0 t,  t,  t',
     'what is not known is not said to be ill')
) as s (place, oldest_s, oldest_xids, dead, live, queue, expected, what) order by s.place;

select is(
    (select format('%s %s', h.quantity, h.is_well)
     from ledger.server_health(0, 0, 0, 0, 0, s.collectors, s.sessions, null) as h
     where h.subject = 'collector_sessions'),
    s.expected, s.what
)
from (values
    (1, 0, 0, '0 t', 'that nobody collects is well where nobody may'),
    (2, 1, 0, '0 f', 'and not where a role may'),
    (3, 2, 1, '1 t', 'one session is enough'),
    (4, 1, 3, '3 t', 'and more are well')
) as s (place, collectors, sessions, expected, what) order by s.place;
select is(
    testing.says(null, 'collector_sessions'),
    'Sessions of collectors: what the server itself denies is recorded while there is one. Start '
    'a collector that goes on.',
    'where nothing was recorded it says no time'
);
select testing.must('collector_1', testing.call('report_denial', jsonb_build_object(
    'p_session_id', '6a9632e4.1f', 'p_line_no', 1, 'p_denied_at', testing.clock(),
    'p_role', 'worker_1', 'p_sqlstate', '42501', 'p_message', 'permission denied')));
select testing.clock_passes('1 hour');
select is(
    substring(testing.says(null, 'collector_sessions') from 'recorded at (.*)[.]$')::timestamptz,
    testing.clock() - interval '1 hour', 'else when that was'
);

-- == which classes, and who may ===================================================================

select testing.must('admin_1', testing.call('retire_class', '{"p_class": "elsewhere"}'));
set local session authorization admin_1;
select is(
    (select count(*) from kernel.health() where class = 'elsewhere'), 0::bigint,
    'leaves out a class that was retired'
);
select isnt_empty('select * from kernel.health()', 'an admin may ask');
reset session authorization;
select is_empty('select * from kernel.health()', 'a superuser gets no row');
create role between_them;
grant fencepost_auditor to between_them;
grant between_them to stranger;
set local session authorization stranger;
select is_empty('select * from kernel.health()', 'nor does who is an auditor indirectly');
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization auditor_1;
select set_config('transaction_read_only', 'on', true);
select isnt_empty('select * from kernel.health()', 'it writes nothing, nor needs to');
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'and wrote nothing');

select finish();
rollback;
