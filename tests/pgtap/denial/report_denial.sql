-- kernel.report_denial records what the server itself denied to a principal, once.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(54);

create function testing.report_of(p_changes jsonb default '{}') returns text language sql as $fn$
    select testing.call('report_denial', jsonb_build_object(
        'p_session_id', '6a9632e4.1f', 'p_line_no', '3',
        'p_denied_at', '2026-09-01 02:59:59.123+00', 'p_role', 'worker_1', 'p_sqlstate', '42501',
        'p_message', 'permission denied for table campaign', 'p_command', 'UPDATE',
        'p_application', 'psql', 'p_raised_in', 'aclcheck_error'
    ) || p_changes)
$fn$;

create function testing.reported(p_changes jsonb default '{}') returns jsonb language sql as $fn$
    select testing.act('collector_1', testing.report_of(p_changes))
$fn$;

create function testing.denials() returns setof ledger.denial
    language sql security definer
as $fn$ select d from ledger.denial as d order by d.denial_no $fn$;

select testing.callable_by('kernel.report_denial', 'collector');

-- == one line of the log ==========================================================================

select is(
    testing.reported() - 'class', jsonb_build_object(
        'outcome', 'ok', 'duplicate', false, 'moved', false, 'note', null, 'campaign_id', null,
        'generation', null, 'state', null, 'lease_expires_at', null, 'message', null
    ), 'answers ok, and speaks of no campaign'
);
select results_eq(
    $$ select session_id, line_no, denied_at, principal, sqlstate, message, command, application,
              raised_in, reported_at, reported_by, suppressed, suppressed_until
       from testing.denials() $$,
    $$ values ('6a9632e4.1f'::text, 3::bigint, '2026-09-01 02:59:59.123+00'::timestamptz,
               'worker_1'::name, '42501'::text, 'permission denied for table campaign'::text,
               'UPDATE'::text, 'psql'::text, 'aclcheck_error'::text,
               '2026-09-01 03:00+00'::timestamptz, 'collector_1'::name, 0::bigint,
               null::timestamptz) $$,
    'records the line, when it was reported by the server''s clock, and by whom'
);
select testing.clock_passes('1 hour');
select is(
    testing.reported() -> 'duplicate', 'true', 'answers duplicate when the line is reported again'
);
select is(
    testing.reported('{"p_message": "something else", "p_role": "sensor_1"}') -> 'duplicate',
    'true', 'whatever else is said of it then'
);
select is((select count(*) from testing.denials()), 1::bigint, 'and records nothing more');
select is(
    testing.reported('{"p_line_no": "4"}') -> 'duplicate', 'false', 'another line is another one'
);
select is(
    testing.reported('{"p_session_id": "6a9632e4.20"}') -> 'duplicate', 'false',
    'and so is that line of another session'
);
select is(
    testing.reported('{"p_denied_at": "2026-09-01 02:59:59.124+00"}') -> 'duplicate', 'false',
    'and that at another time, of a session that a restarted server named alike'
);
select is(
    testing.reported(jsonb_build_object(
        'p_line_no', '5', 'p_command', null, 'p_application', null, 'p_raised_in', null)) -> 'note',
    'null', 'needs neither command nor application nor the server''s function'
);
select is((select count(*) from testing.denials()), 5::bigint, 'each has its row');

-- == whose ========================================================================================

create role deputy login noinherit;
grant fencepost_worker to deputy;
create role gone login;
select testing.must('admin_1', $$ select * from kernel.register_principal('gone') $$) -> 'note';
drop role gone;
create role maker login;
grant fencepost_owner to maker;

create temporary table before as select count(*) as n from testing.denials();
select is(testing.reported(jsonb_build_object('p_role', r.name)) -> 'note', '"not_a_client"',
          format('records nothing of %s', r.name))
from (values
    ('stranger'), ('postgres'), ('fencepost_worker'), ('maker'), ('no such role')
) as r (name);
select is((select count(*) from testing.denials()), (select n from before), 'not a row of theirs');
select is(
    testing.reported(jsonb_build_object('p_role', r.name, 'p_session_id', r.n || '.1')) -> 'note',
    'null', format('records it of %s', r.name)
)
from (values
    (1, 'deputy'), (2, 'gone'), (3, 'admin_1'), (4, 'auditor_1'), (5, 'collector_1'),
    (6, 'reaper_1'), (7, 'sensor_1'), (8, 'verifier_1')
) as r (n, name);
select is((select count(*) from testing.denials()), (select n + 8 from before), 'a row of each');

-- == when =========================================================================================

select is(
    testing.reported('{"p_line_no": "6", "p_denied_at": "2026-06-03 04:00+00"}') -> 'note',
    '"too_old"', 'records nothing that is 90 days old'
);
select is(
    testing.reported('{"p_line_no": "6", "p_denied_at": "2026-06-03 04:00:01+00"}') -> 'note',
    'null', 'records what is younger'
);
select is(
    testing.reported('{"p_line_no": "7", "p_denied_at": "2026-09-02 04:00+00"}') -> 'note',
    'null', 'and what a clock wrote that was put back since'
);

-- == misuse =======================================================================================

create function testing.misuse(p_changes jsonb, p_code text, p_description text)
    returns text language plpgsql as $fn$
declare
    v_report text;
begin
    set local session authorization collector_1;
    v_report := testing.raises(testing.report_of(p_changes), p_code, null, p_description);
    reset session authorization;
    return v_report;
end
$fn$;

select testing.misuse(jsonb_build_object(m.name, null), 'KN101', format('wants %s', m.name))
from unnest(array['p_session_id', 'p_line_no', 'p_denied_at', 'p_role', 'p_sqlstate',
                  'p_message']) as m (name);
select testing.misuse(m.changes, m.code, m.description)
from (values
    ('{"p_session_id": "6a9632e4"}'::jsonb, 'KN102', 'wants a session as the log names it'),
    ('{"p_session_id": "6A9632E4.1F"}', 'KN102', 'in its own letters'),
    ('{"p_session_id": "00000000000000001.1"}', 'KN102', 'not longer than it can be'),
    ('{"p_session_id": "6a9632e4.1f\n"}', 'KN102', 'and without anything behind it'),
    ('{"p_sqlstate": "28P01"}', 'KN102', 'takes no failed login: nobody has proved that name'),
    ('{"p_sqlstate": "42601"}', 'KN102', 'nor any other error'),
    ('{"p_line_no": "0"}', 'KN104', 'counts lines from 1'),
    ('{"p_denied_at": "infinity"}', 'KN104', 'takes no infinite time'),
    ('{"p_denied_at": "-infinity"}', 'KN104', 'in neither direction'),
    ('{"p_denied_at": "2026-09-02 04:00:01+00"}', 'KN104', 'and none of tomorrow'),
    (jsonb_build_object('p_role', repeat('x', 64)), 'KN103', 'bounds the name'),
    (jsonb_build_object('p_message', repeat('x', 4097)), 'KN103', 'bounds the message'),
    (jsonb_build_object('p_command', repeat('x', 201)), 'KN103', 'bounds the command'),
    (jsonb_build_object('p_application', repeat('x', 201)), 'KN103', 'bounds the application'),
    (jsonb_build_object('p_raised_in', repeat('x', 201)), 'KN103', 'bounds the function')
) as m (changes, code, description);
select is(
    testing.reported(jsonb_build_object(
        'p_session_id', 'b.1', 'p_role', 'worker_2', 'p_message', repeat('x', 4096),
        'p_command', repeat('x', 200), 'p_application', '', 'p_raised_in', ' ')) -> 'note',
    'null', 'takes what is within the bounds, and what is empty'
);

-- == who may not ==================================================================================

-- The privilege alone is not enough.
grant usage on schema kernel to stranger;
grant execute on function kernel.report_denial to stranger;
select is(
    (select a ->> 'outcome' from testing.act(
        'stranger', testing.report_of('{"p_session_id": "c.1"}')) as a),
    'forbidden', 'is for collectors only, also where the privilege is had'
);
select results_eq(
    $$ select principal, class, function, outcome from ledger.refusal $$,
    $$ values ('stranger'::name, ''::text, 'report_denial'::text, 'forbidden'::text) $$,
    'and records who tried'
);
select is((select count(*) from testing.denials() where session_id = 'c.1'), 0::bigint, 'not what');

select finish();
rollback;
