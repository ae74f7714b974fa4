-- kernel.define_target makes a watched thing of a class, or replaces what is said of it.
\ir ../_support/fixture.psql
select plan(85);

select testing.callable_by('kernel.define_target', 'admin');

create function testing.defined(
    p_location text default '{"repository": "/srv/p.git", "ref": "refs/heads/main"}',
    p_desired_state text default '{"tests": "green"}',
    p_acceptance text default '{"command": ["make", "test"]}',
    p_policy text default '{}',
    p_target text default 'parser',
    p_class text default 'fix'
)
    returns text language sql
as $fn$
    select format('select * from kernel.define_target(p_class => %L, p_target => %L, '
                  'p_location => %L, p_desired_state => %L, p_acceptance => %L, p_policy => %L)',
                  p_class, p_target, p_location, p_desired_state, p_acceptance, p_policy);
$fn$;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    testing.defined(),
    $$ values ('ok', false, false, null::text, 'fix', null::bigint, null::bigint, null::text,
               null::timestamptz, null::text) $$,
    'kernel.define_target answers ok, with the class'
);
select row_eq(
    $$ select t.class, t.target, t.location, t.desired_state, t.acceptance, t.observe_every,
              t.observe_within, t.settle, t.observation_no, t.next_slot_at, t.slot_begun_at,
              t.quiet_until
       from testing.target() as t $$,
    row('fix'::text, 'parser'::text,
        '{"ref": "refs/heads/main", "repository": "/srv/p.git"}'::jsonb,
        '{"tests": "green"}'::jsonb,
        '{"command": ["make", "test"], "time_limit_s": 600, "protected": []}'::jsonb,
        interval '24 hours', interval '10 minutes', interval '0', 0::bigint,
        timestamptz '2026-09-01 03:00+00', null::timestamptz, null::timestamptz),
    'kernel.define_target fills in the defaults, and its first slot is due at once'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.at, e.before, e.after ->> 'target'
       from testing.config('define_target') as e $$,
    row('fix'::text, 'parser'::text, 'admin_1'::name, timestamptz '2026-09-01 03:00+00',
        null::jsonb, 'parser'::text),
    'kernel.define_target records who defined it, and as what'
);
select testing.duplicate(
    testing.defined(p_policy => '{"observe_every": "24 hours", "settle": "0 s"}',
                    p_acceptance => '{"protected": [], "command": ["make", "test"]}'),
    'kernel.define_target repeated in other words is a duplicate and writes nothing'
);
select testing.observed(true);
select testing.clock_passes('2 hours');
select lives_ok(
    testing.defined(
        p_location => '{"repository": "/moved"}', p_desired_state => '{"tests": "grey"}',
        p_acceptance => '{"command": ["true"], "time_limit_s": 86400, "protected": ["tests/a b"]}',
        p_policy => '{"observe_every": "31 days", "observe_within": "1 s", "settle": "1 hour"}'
    ),
    'kernel.define_target replaces what is said of a target'
);
select row_eq(
    $$ select t.location, t.desired_state, t.acceptance, t.observe_every, t.observe_within,
              t.settle, t.observation_no, t.next_slot_at
       from testing.target() as t $$,
    row('{"repository": "/moved"}'::jsonb, '{"tests": "grey"}'::jsonb,
        '{"command": ["true"], "time_limit_s": 86400, "protected": ["tests/a b"]}'::jsonb,
        interval '744 hours', interval '1 s', interval '1 hour', 1::bigint,
        timestamptz '2026-09-02 03:00+00'),
    'kernel.define_target keeps the target''s numbers and its next slot'
);
select row_eq(
    $$ select e.before ->> 'settle', e.after ->> 'settle'
       from testing.config('define_target') as e where e.before is not null $$,
    row('00:00:00'::text, '01:00:00'::text),
    'kernel.define_target records from what the target was changed'
);
select lives_ok(
    testing.defined(p_policy => '{"observe_every": "5 minutes"}'),
    'kernel.define_target makes the distance of the slots shorter'
);
select is(
    (testing.target()).next_slot_at, timestamptz '2026-09-01 05:05+00',
    'kernel.define_target does not let a shorter distance wait for a slot of the longer one'
);
select testing.open('frozen');
select testing.must('admin_1', testing.defined(
    p_desired_state => '{}', p_acceptance => '{"command": ["true"]}', p_target => 'frozen'
));
select row_eq(
    $$ select c.desired_state, c.acceptance -> 'command' from testing.campaign('frozen') as c $$,
    row('{"tests": "green"}'::jsonb, '["make", "test"]'::jsonb),
    'kernel.define_target leaves an open campaign what it was opened with'
);
select is(
    (select count(*) from testing.refusals()), 0::bigint,
    'kernel.define_target has refused nothing up to here'
);

-- == who may ======================================================================================

reset session authorization;
select testing.refused(
    testing.defined(), 'forbidden', 'kernel.define_target answers forbidden to a superuser'
);
select testing.refused(
    testing.defined(p_class => 'no-such-class'), 'forbidden',
    'kernel.define_target answers forbidden, not unknown, to who is no admin'
);

-- == misuse =======================================================================================

set local session authorization admin_1;
select testing.raises(
    testing.defined(p_class => 'no-such-class'), 'KN106', 'there is no class no-such-class',
    'kernel.define_target knows its classes'
);
select testing.raises(m.call, 'KN101', format('argument %s is null', m.missing),
                      format('kernel.define_target wants %s', m.missing))
from (values
    (testing.defined(p_class => null), 'p_class'),
    (testing.defined(p_target => null), 'p_target'),
    (testing.defined(p_location => null), 'p_location'),
    (testing.defined(p_desired_state => null), 'p_desired_state'),
    (testing.defined(p_acceptance => null), 'p_acceptance'),
    (testing.defined(p_policy => null), 'p_policy')
) as m (call, missing);
select testing.raises(
    testing.defined(p_target => t.target), t.code, t.message,
    format('kernel.define_target takes no target named by %s', t.what)
)
from (values
    ('', 'KN102', 'argument p_target is empty', 'nothing'),
    ('  ', 'KN102', 'argument p_target is empty', 'blanks'),
    (repeat('é', 101), 'KN103', 'argument p_target is too long', '202 bytes'),
    (E'a\nb', 'KN102', 'the name of a target has a control character', 'two lines'),
    (E'a\x1bb', 'KN102', 'the name of a target has a control character', 'an escape')
) as t (target, code, message, what);
select lives_ok(
    testing.defined(p_target => t.target),
    'kernel.define_target takes target ' || left(t.target, 20)
)
from (values ('services/parser (main)'), ('Ünïcode ✓'), (repeat('é', 100))) as t (target);
select testing.raises(
    testing.defined(p_location => o.object), o.code, null,
    format('kernel.define_target takes no location %s', left(o.object, 20))
)
from (values ('[]', 'KN102'), ('"x"', 'KN102'), ('null', 'KN102'), ('7', 'KN102'),
             ('{"repository": "/srv/x", "ref": "main"}', 'KN102'),
             ('{"repository": "/srv/x", "ref": "-d"}', 'KN102'),
             (jsonb_build_object('repository', repeat('x', 985), 'ref', 'refs/heads/main')::text,
              'KN103'),
             (jsonb_build_object('x', repeat('x', 65536))::text, 'KN103')) as o (object, code);
select testing.raises(
    testing.defined(p_desired_state => o.object), o.code, null,
    format('kernel.define_target takes no desired state %s', left(o.object, 20))
)
from (values ('[]', 'KN102'), ('null', 'KN102'),
             (jsonb_build_object('x', repeat('x', 65536))::text, 'KN103')) as o (object, code);
select testing.raises(
    testing.defined(p_acceptance => a.acceptance), a.code, a.message,
    format('kernel.define_target does not take %s', left(a.acceptance, 60))
)
from (values
    ('[]', 'KN102', 'argument p_acceptance is not a jsonb object'),
    ('{}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": []}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": "make test"}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": null}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": ["make", 7]}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": ["make", null]}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": [["make"]]}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": ["", "test"]}', 'KN102', 'the acceptance command is not a list of words'),
    ('{"command": ["make"], "shell": true}', 'KN105', 'unknown key: shell'),
    ('{"command": ["make"], "time_limit_s": 0}', 'KN104', 'policy time_limit_s is out of range'),
    ('{"command": ["make"], "time_limit_s": 86401}', 'KN104',
     'policy time_limit_s is out of range'),
    ('{"command": ["make"], "time_limit_s": 1.5}', 'KN104', 'policy time_limit_s is out of range'),
    ('{"command": ["make"], "time_limit_s": "60"}', 'KN102', 'policy time_limit_s is not a number'),
    ('{"command": ["make"], "protected": "tests"}', 'KN102', 'the protected paths are not a list'),
    ('{"command": ["make"], "protected": null}', 'KN102', 'the protected paths are not a list'),
    ('{"command": ["make"], "protected": [""]}', 'KN102',
     'a protected path is not relative to the repository: '),
    ('{"command": ["make"], "protected": [7]}', 'KN102',
     'a protected path is not relative to the repository: 7'),
    ('{"command": ["make"], "protected": [null]}', 'KN102', null),
    ('{"command": ["make"], "protected": ["/etc"]}', 'KN102',
     'a protected path is not relative to the repository: /etc'),
    ('{"command": ["make"], "protected": ["a/../b"]}', 'KN102',
     'a protected path is not relative to the repository: a/../b'),
    ('{"command": ["make"], "protected": ["./a"]}', 'KN102',
     'a protected path is not relative to the repository: ./a'),
    ('{"command": ["make"], "protected": ["a//b"]}', 'KN102',
     'a protected path is not relative to the repository: a//b'),
    ('{"command": ["make"], "protected": ["tests", ".."]}', 'KN102',
     'a protected path is not relative to the repository: ..')
) as a (acceptance, code, message);
select lives_ok(
    testing.defined(
        p_acceptance => '{"command": ["make"], "protected": [".github", "a..b", "..."]}'
    ),
    'kernel.define_target takes protected paths that only look odd'
);
select testing.raises(
    testing.defined(p_policy => p.policy), p.code, p.message,
    format('kernel.define_target does not take %s', p.policy)
)
from (values
    ('[]', 'KN102', 'argument p_policy is not a jsonb object'),
    ('{"observe_on": "monday"}', 'KN105', 'unknown key: observe_on'),
    ('{"observe_at": "03:00"}', 'KN102', 'a target has one schedule'),
    ('{"time_zone": "Europe/Berlin"}', 'KN102', 'a target has one schedule'),
    ('{"observe_at": "03:00", "time_zone": "UTC", "observe_every": "1 day"}', 'KN102',
     'a target has one schedule'),
    ('{"observe_at": "24:00", "time_zone": "UTC"}', 'KN102',
     'policy observe_at is not a time of day'),
    ('{"observe_at": "3:00", "time_zone": "UTC"}', 'KN102',
     'policy observe_at is not a time of day'),
    ('{"observe_at": "03:00:60", "time_zone": "UTC"}', 'KN102',
     'policy observe_at is not a time of day'),
    ('{"observe_at": "03:00+02", "time_zone": "UTC"}', 'KN102',
     'policy observe_at is not a time of day'),
    ('{"observe_at": 3, "time_zone": "UTC"}', 'KN102', 'policy observe_at is not a time of day'),
    ('{"observe_at": null, "time_zone": "UTC"}', 'KN102',
     'policy observe_at is not a time of day'),
    ('{"observe_at": "03:00", "time_zone": "CEST"}', 'KN102',
     'policy time_zone is not an IANA name'),
    ('{"observe_at": "03:00", "time_zone": "Europe/Atlantis"}', 'KN102',
     'policy time_zone is not an IANA name'),
    ('{"observe_at": "03:00", "time_zone": "<+02>-02"}', 'KN102',
     'policy time_zone is not an IANA name'),
    ('{"observe_at": "03:00", "time_zone": null}', 'KN102', 'policy time_zone is not an IANA name'),
    ('{"observe_every": "999 ms"}', 'KN104', 'policy observe_every is out of range'),
    ('{"observe_every": "31 days 1 s"}', 'KN104', 'policy observe_every is out of range'),
    ('{"observe_every": 60}', 'KN102', 'policy observe_every is not a duration'),
    ('{"observe_within": "0"}', 'KN104', 'policy observe_within is out of range'),
    ('{"settle": "-1 s"}', 'KN104', 'policy settle is out of range')
) as p (policy, code, message);

reset session authorization;
select finish();
rollback;
