-- When a target's scheduled observations are due: at a distance, or once a day at a local time.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(73);

create function testing.daily(p_at time, p_time_zone text, p_after timestamptz)
    returns timestamptz
    language sql
as $fn$
    select ledger.next_slot(
        jsonb_populate_record(null::ledger.target, jsonb_build_object(
            'observe_at', p_at, 'time_zone', p_time_zone)),
        p_after
    )
$fn$;

create function testing.at_distance(p_every interval, p_due timestamptz, p_after timestamptz)
    returns timestamptz
    language sql
as $fn$
    select ledger.next_slot(
        jsonb_populate_record(null::ledger.target, jsonb_build_object(
            'observe_every', p_every, 'next_slot_at', p_due)),
        p_after
    )
$fn$;

-- == once a day ===================================================================================

select is(
    testing.daily(s.at, s.zone, s.after::timestamptz), s.expected::timestamptz,
    format('%s in %s, after %s: %s', s.at, s.zone, s.after, s.what)
)
from (values
    (1, '06:30'::time, 'Europe/Berlin', '2026-09-01 03:00+00', '2026-09-01 04:30+00', 'today'),
    (2, '06:30', 'Europe/Berlin', '2026-09-01 04:29:59.999999+00', '2026-09-01 04:30+00',
     'today still'),
    (3, '06:30', 'Europe/Berlin', '2026-09-01 04:30+00', '2026-09-02 04:30+00', 'tomorrow'),
    (4, '06:30', 'Europe/Berlin', '2026-12-31 23:30+00', '2027-01-01 05:30+00',
     'the day is that of the zone'),
    (5, '00:00', 'Europe/Berlin', '2026-09-01 21:59+00', '2026-09-01 22:00+00', 'midnight'),
    (6, '00:00', 'Europe/Berlin', '2026-09-01 22:00+00', '2026-09-02 22:00+00', 'the next'),
    (7, '23:59:59', 'UTC', '2026-09-01 03:00+00', '2026-09-01 23:59:59+00', 'to the second'),
    (8, '12:00', 'Pacific/Kiritimati', '2026-09-01 21:00+00', '2026-09-01 22:00+00',
     'fourteen hours ahead'),
    (9, '12:00', 'Pacific/Marquesas', '2026-09-01 21:00+00', '2026-09-01 21:30+00',
     'nine and a half behind'),
    (10, '06:30', 'America/New_York', '2026-09-01 03:00+00', '2026-09-01 10:30+00', 'in summer'),
    (11, '06:30', 'America/New_York', '2026-12-01 03:00+00', '2026-12-01 11:30+00', 'in winter'),
    (12, '23:00', 'America/New_York', '2026-09-02 02:00+00', '2026-09-02 03:00+00',
     'today there, tomorrow in UTC'),
    -- What summer time leaves out is as much later.
    (20, '02:30', 'Europe/Berlin', '2026-03-28 12:00+00', '2026-03-29 01:30+00',
     'the gap: at 03:30'),
    (21, '02:30', 'Europe/Berlin', '2026-03-29 01:30+00', '2026-03-30 00:30+00',
     'then the day after'),
    (22, '02:00', 'Europe/Berlin', '2026-03-28 12:00+00', '2026-03-29 01:00+00',
     'the gap''s beginning: at 03:00'),
    (23, '01:59:59', 'Europe/Berlin', '2026-03-28 12:00+00', '2026-03-29 00:59:59+00',
     'before the gap'),
    (24, '03:00', 'Europe/Berlin', '2026-03-28 12:00+00', '2026-03-29 01:00+00', 'behind it'),
    (25, '02:30', 'America/New_York', '2026-03-07 12:00+00', '2026-03-08 07:30+00',
     'the gap: at 03:30'),
    (26, '02:30', 'America/New_York', '2026-03-08 07:30+00', '2026-03-09 06:30+00',
     'then the day after'),
    -- What comes twice is taken the second time, once.
    (30, '02:30', 'Europe/Berlin', '2026-10-24 12:00+00', '2026-10-25 01:30+00',
     'the overlap: the second'),
    (31, '02:30', 'Europe/Berlin', '2026-10-25 00:30+00', '2026-10-25 01:30+00',
     'not at the first'),
    (32, '02:30', 'Europe/Berlin', '2026-10-25 01:30+00', '2026-10-26 01:30+00',
     'then the day after'),
    (33, '01:30', 'America/New_York', '2026-10-31 12:00+00', '2026-11-01 06:30+00',
     'the overlap: the second'),
    (34, '01:30', 'America/New_York', '2026-11-01 05:30+00', '2026-11-01 06:30+00',
     'not at the first'),
    (35, '01:30', 'America/New_York', '2026-11-01 06:30+00', '2026-11-02 06:30+00',
     'then the day after')
) as s (place, at, zone, after, expected, what) order by s.place;

-- Day after day, for two years.
create function testing.days(p_at time, p_time_zone text)
    returns text
    language plpgsql
as $fn$
declare
    v_slot  timestamptz := '2026-01-01 00:00+00';
    v_last  date;
    v_local timestamp;
    v_odd   text;
begin
    for v_no in 1..730 loop
        v_slot  := testing.daily(p_at, p_time_zone, v_slot);
        v_local := v_slot at time zone p_time_zone;
        if v_last is not null and v_local::date <> v_last + 1 then
            return format('%s after %s', v_local, v_last);
        end if;
        if v_local::time <> p_at then
            v_odd := concat_ws(', ', v_odd, v_local);
        end if;
        v_last := v_local::date;
    end loop;
    return coalesce(v_odd, 'always then');
end
$fn$;

select is(
    testing.days(d.at, d.zone), d.expected,
    format('%s in %s: one slot a day, and where it is not then', d.at, d.zone)
)
from (values
    ('02:30'::time, 'Europe/Berlin', '2026-03-29 03:30:00, 2027-03-28 03:30:00'),
    ('02:30', 'America/New_York', '2026-03-08 03:30:00, 2027-03-14 03:30:00'),
    ('01:30', 'America/New_York', 'always then'),
    ('00:30', 'Africa/Cairo', '2026-04-24 01:30:00, 2027-04-30 01:30:00'),
    ('06:30', 'Asia/Kolkata', 'always then')
) as d (at, zone, expected);

-- == at a distance ================================================================================

select is(
    testing.at_distance(s.every, s.due::timestamptz, s.after::timestamptz),
    s.expected::timestamptz, format('every %s, due %s, after %s', s.every, s.due, s.after)
)
from (values
    (interval '1 hour', '2026-09-01 03:00+00', '2026-09-01 03:00+00', '2026-09-01 04:00+00'),
    (interval '1 hour', '2026-09-01 03:00+00', '2026-09-01 03:59:59+00', '2026-09-01 04:00+00'),
    (interval '1 hour', '2026-09-01 03:00+00', '2026-09-01 04:00+00', '2026-09-01 05:00+00'),
    (interval '1 hour', '2026-09-01 03:00+00', '2026-09-01 09:30+00', '2026-09-01 10:00+00'),
    (interval '1 hour', '2026-09-01 03:00+00', '2026-09-01 01:00+00', '2026-09-01 04:00+00'),
    (interval '1 second', '2026-09-01 03:00+00', '2027-09-01 03:00:00.5+00',
     '2027-09-01 03:00:01+00'),
    (interval '31 days', '2026-09-01 03:00+00', '2026-09-01 03:00+00', '2026-10-02 03:00+00')
) as s (every, due, after, expected);
select is(
    testing.at_distance('24 hours', '2026-03-28 05:30+00', '2026-03-28 05:30+00'),
    '2026-03-29 05:30+00'::timestamptz, 'a day is 24 hours there, whatever summer time does'
);

-- == the settings of the session change nothing ===================================================

create function testing.in_zone(p_session_zone text)
    returns text
    language plpgsql
as $fn$
begin
    perform set_config('timezone', p_session_zone, true);
    return format('%s %s %s',
        extract(epoch from testing.daily('02:30', 'Europe/Berlin', '2026-03-28 12:00+00')),
        extract(epoch from testing.daily('01:30', 'America/New_York', '2026-10-31 12:00+00')),
        extract(epoch from testing.at_distance('24 hours', '2026-03-28 05:30+00',
                                               '2026-03-28 05:30+00')));
end
$fn$;
select is(
    testing.in_zone(z.zone), testing.in_zone('UTC'), format('with timezone %s as with UTC', z.zone)
)
from unnest(array['Europe/Berlin', 'America/New_York', 'Pacific/Apia', 'Asia/Kathmandu'])
    as z (zone);

-- == a target observed once a day =================================================================

create function testing.begun(p_token text)
    returns text
    language sql
as $fn$
    select testing.must('sensor_1', testing.call('begin_observation', jsonb_build_object(
        'p_class', 'fix', 'p_target', 'parser', 'p_token', testing.token(p_token))))
        ->> 'is_scheduled'
$fn$;

create function testing.reported(p_token text)
    returns void
    language sql
as $fn$
    select testing.must('sensor_1', testing.call('report_observation', jsonb_build_object(
        'p_class', 'fix', 'p_target', 'parser', 'p_token', testing.token(p_token),
        'p_number', (testing.observation()).observation_no, 'p_is_green', true)))
$fn$;

-- A night in which the clocks go forward, and a session far away.
set local timezone = 'Pacific/Apia';
select testing.clock_is('2026-03-28 12:00+00');
select testing.target_in('parser', 'fix', '{"observe_at": "02:30", "time_zone": "Europe/Berlin"}');
select row_eq(
    $$ select t.observe_every, t.observe_at, t.time_zone, t.next_slot_at
       from testing.target() as t $$,
    row(null::interval, '02:30'::time, 'Europe/Berlin'::text, '2026-03-29 01:30+00'::timestamptz),
    'its first slot is the next such time, not at once'
);
select is(testing.begun('early'), 'false', 'before it an observation is not scheduled');
select testing.reported('early');
select testing.clock_is('2026-03-29 01:29:59+00');
select is(testing.begun('too early'), 'false', 'nor a second before');
select testing.reported('too early');
select testing.clock_is('2026-03-29 01:30+00');
select is(testing.begun('in time'), 'true', 'in time it is');
select testing.clock_passes('5 minutes');
select testing.reported('in time');
select is(
    (testing.target()).next_slot_at, '2026-03-30 00:30+00'::timestamptz,
    'reported, the next slot is at the same time of the next day'
);
select is(testing.begun('again'), 'false', 'one slot a day: not again on that day');
select testing.reported('again');
-- Nobody looks for three days.
select testing.clock_is('2026-04-02 10:00+00');
select is(testing.begun('late'), 'true', 'after three days without a sensor a slot is due');
select testing.clock_passes('10 minutes');
select is(testing.begun('instead'), 'true', 'begun and not reported in time it is offered again');
select testing.reported('instead');
select is(
    (testing.target()).next_slot_at, '2026-04-03 00:30+00'::timestamptz,
    'what was missed is not made up for'
);
set local timezone = 'UTC';

-- == defined anew =================================================================================

create function testing.defined_anew(p_policy jsonb)
    returns timestamptz
    language plpgsql
as $fn$
begin
    perform testing.target_in('parser', 'fix', p_policy);
    return (testing.target()).next_slot_at;
end
$fn$;

select is(
    testing.defined_anew('{"observe_at": "06:00", "time_zone": "Europe/Berlin"}'),
    '2026-04-03 04:00+00'::timestamptz, 'another time of day counts from the next such time'
);
select is(
    testing.defined_anew('{"observe_at": "06:00", "time_zone": "America/New_York"}'),
    '2026-04-03 10:00+00'::timestamptz, 'so does another zone'
);
select testing.clock_is('2026-04-03 10:05+00');
select is(
    testing.defined_anew('{"observe_at": "06:00", "time_zone": "America/New_York",
                           "settle": "1 hour"}'),
    '2026-04-03 10:00+00'::timestamptz, 'a slot that is due is not lost by another change'
);
select is(
    testing.defined_anew('{"observe_at": "18:00", "time_zone": "America/New_York"}'),
    '2026-04-03 10:00+00'::timestamptz, 'nor by another time of day'
);
select is(testing.begun('kept'), 'true', 'it still may be begun');
select testing.reported('kept');
select is(
    (testing.target()).next_slot_at, '2026-04-03 22:00+00'::timestamptz,
    'and the next is the new one'
);
select is(
    testing.defined_anew('{"observe_every": "1 hour"}'), '2026-04-03 11:05+00'::timestamptz,
    'from a time of day to a distance'
);
select row_eq(
    $$ select t.observe_every, t.observe_at, t.time_zone from testing.target() as t $$,
    row(interval '1 hour', null::time, null::text), 'a target has one schedule'
);
select is(
    testing.defined_anew('{"observe_at": "00:00", "time_zone": "UTC"}'),
    '2026-04-04 00:00+00'::timestamptz, 'and back'
);
select testing.raises(
    s.statement, '23514', null, 'not both nor neither, by hand either: ' || s.statement
)
from (values
    ('update ledger.target set observe_every = interval ''1 hour'''),
    ('update ledger.target set observe_at = null, time_zone = null'),
    ('update ledger.target set time_zone = null')
) as s (statement);

-- == which zones ==================================================================================

create function testing.takes_zone(p_time_zone text)
    returns text
    language sql
as $fn$
    select testing.call('define_target', jsonb_build_object(
        'p_class', 'fix', 'p_target', 'lexer', 'p_location', '{}'::jsonb,
        'p_desired_state', '{}'::jsonb, 'p_acceptance', '{"command": ["true"]}'::jsonb,
        'p_policy', jsonb_build_object('observe_at', '06:30', 'time_zone', p_time_zone)))
$fn$;
set local session authorization admin_1;
select lives_ok(testing.takes_zone(z), 'takes ' || z)
from unnest(array['UTC', 'America/Argentina/Buenos_Aires', 'Asia/Kathmandu']) as z;
select testing.raises(
    testing.takes_zone(z), 'KN102', 'policy time_zone is not an IANA name', 'does not take ' || z
)
from unnest(array['utc', 'europe/berlin', 'posix/Europe/Berlin', 'right/Europe/Berlin',
                  'EST5EDT,M3', '+02', 'localtime']) as z;
reset session authorization;

select finish();
rollback;
