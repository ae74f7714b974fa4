-- ledger.denial is what collectors reported; nobody adds to it, changes it or removes from it by
-- hand, and it goes after 90 days.
\ir ../_support/fixture.psql
select plan(58);

create function testing.denied(
    p_line_no bigint, p_denied_at timestamptz default '2026-09-01 03:00+00',
    p_principal text default 'worker_1', p_session_id text default '6a9632e4.1f'
)
    returns text language sql
as $fn$
    select coalesce(a ->> 'note', case when (a ->> 'duplicate')::boolean then 'duplicate'
                                       else a ->> 'outcome' end)
    from testing.act('collector_1', format(
        'select * from kernel.report_denial(%L, %s, %L, %L, ''42501'', ''permission denied'')',
        p_session_id, p_line_no, p_denied_at, p_principal
    )) as a
$fn$;

create function testing.lines(p_principal text default 'worker_1') returns setof bigint
    language sql security definer
as $fn$ select d.line_no from ledger.denial as d where d.principal = p_principal order by 1 $fn$;

create function testing.suppressed(p_principal text default 'worker_1') returns setof text
    language sql security definer
as $fn$
    select format('line %s: %s until %s', d.line_no, d.suppressed,
                  to_char(d.suppressed_until, 'MI:SS.MS'))
    from ledger.denial as d
    where d.principal = p_principal and d.suppressed > 0
    order by d.denial_no
$fn$;

-- == by hand ======================================================================================

select is(testing.denied(1), 'ok', 'there is one');

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return next testing.raises(
        $$ insert into ledger.denial (session_id, line_no, denied_at, principal, sqlstate, message,
                                      reported_at, reported_by)
           values ('a.1', 1, now(), 'worker_2', '42501', 'x', now(), session_user) $$,
        'KN902', 'INSERT of a denial is refused', 'ledger.denial takes none from ' || p_who
    );
    return query select testing.raises(
        format('update ledger.denial set %s', c.change), 'KN902', 'UPDATE of a denial is refused',
        format('ledger.denial keeps its %s against %s', split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('principal = ''worker_2'''), ('message = ''nothing'''), ('denied_at = now()'),
        ('suppressed = suppressed + 1, suppressed_until = now()')
    ) as c (change);
    return next testing.raises(
        'delete from ledger.denial', 'KN902', 'DELETE of a denial is refused',
        'ledger.denial loses no row to ' || p_who
    );
    return next testing.raises(
        'truncate ledger.denial', 'KN902', null, 'ledger.denial is not truncated by ' || p_who
    );
end
$fn$;

select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser while other triggers are off');
set local session_replication_role = origin;

-- == a collector that had the owner's privilege ===================================================

grant usage on schema ledger to collector_1;
grant select, insert, update, delete on ledger.denial to collector_1;
set local session authorization collector_1;
select testing.raises(
    format('update ledger.denial set %s, suppressed = suppressed + 1, suppressed_until = now()',
           c.change),
    'KN902', null, format('ledger.denial counts, and keeps its %s', split_part(c.change, ' ', 1))
)
from (values
    ('session_id = ''a.1'''), ('line_no = 7'), ('denied_at = now()'), ('principal = ''worker_2'''),
    ('denial_no = default'), ('message = ''x'''), ('command = ''x'''), ('application = ''x'''),
    ('raised_in = ''x'''), ('reported_at = now()'), ('reported_by = ''worker_2''')
) as c (change);
select testing.raises(
    'update ledger.denial set suppressed = suppressed + 2, suppressed_until = now()', 'KN902', null,
    'ledger.denial counts one at a time'
);
select testing.raises(
    'update ledger.denial set suppressed = suppressed + 1', 'KN902', null,
    'ledger.denial counts with the time of what it counts'
);
select testing.raises(
    $$ insert into ledger.denial (session_id, line_no, denied_at, principal, sqlstate, message,
                                  reported_at, reported_by)
       values ('a.1', 1, now(), 'worker_2', '42501', 'x', now(), 'auditor_1') $$, 'KN902', null,
    'ledger.denial names who reported'
);
select testing.raises(
    $$ insert into ledger.denial (session_id, line_no, denied_at, principal, sqlstate, message,
                                  reported_at, reported_by, suppressed, suppressed_until)
       values ('a.1', 1, now(), 'worker_2', '42501', 'x', now(), session_user, 1, now()) $$,
    'KN902', null, 'ledger.denial begins to count at none'
);
select testing.clock_passes('90 days - 1 second');
select testing.raises(
    'delete from ledger.denial', 'KN902', null, 'ledger.denial keeps a row for 90 days'
);
reset session authorization;
revoke all on ledger.denial from collector_1;
revoke usage on schema ledger from collector_1;

-- == a later report removes what is older =========================================================

select is(testing.denied(n, '2026-09-01 03:00+00'), 'ok', 'at the last moment')
from generate_series(2, 5) as n;
select testing.clock_passes('1 second');
select is(testing.denied(1), 'too_old', 'what is 90 days old is not recorded again');
select set_eq(
    'select testing.lines()', 'values (1), (2), (3), (4), (5)', 'nor does that remove anything'
);
select is(testing.denied(6, '2026-11-30 03:00+00', 'worker_2'), 'ok', 'the next report');
select set_eq(
    'select testing.lines()', 'values (2), (3), (4), (5)',
    'removes what was both denied and reported 90 days ago'
);
select testing.clock_passes('90 days - 1 second');
select is(testing.denied(7, '2027-02-28 02:59+00', 'worker_2'), 'ok', 'and the next');
select set_eq('select testing.lines()', 'values (4), (5)', 'two at a time');

-- == more than 60 in a minute =====================================================================

select is(
    (select array_agg(distinct testing.denied(n, '2027-02-28 02:00+00'::timestamptz
                                                 + n * interval '10 ms', 'sensor_1'))
     from generate_series(1, 60) as n),
    array['ok'], 'ledger.denial has a row for each of 60 in a minute'
);
select is(
    (select array_agg(distinct testing.denied(n, '2027-02-28 02:00+00'::timestamptz
                                                 + n * interval '10 ms', 'sensor_1'))
     from generate_series(61, 70) as n),
    array['suppressed'], 'further ones are counted'
);
select is((select count(*) from testing.lines('sensor_1')), 60::bigint, 'have no row');
select set_eq(
    $$ select testing.suppressed('sensor_1') $$, $$ values ('line 60: 10 until 00:00.700') $$,
    'and are counted with the newest'
);
select is(
    (select array_agg(distinct testing.denied(n, '2027-02-28 02:00+00'::timestamptz
                                                 + n * interval '10 ms', 'sensor_1'))
     from generate_series(1, 70) as n),
    array['duplicate'], 'once, however often the log is read'
);
select is(
    testing.denied(1, '2027-02-28 02:00:00.700+00', 'sensor_1', 'b.1'), 'duplicate',
    'those of one millisecond once'
);
select is(
    testing.denied(71, '2027-02-28 02:00:00.705+00', 'sensor_2', 'c.1'), 'ok',
    'another principal''s have their rows'
);
select is(
    testing.denied(71, '2027-02-28 02:01:00.009+00', 'sensor_1'), 'suppressed',
    'a minute is one of the log'
);
select is(
    testing.denied(72, '2027-02-28 02:01:00.010+00', 'sensor_1'), 'ok',
    'and when it is over there are rows again'
);
select is(
    testing.denied(73, '2027-02-28 01:59:00+00', 'sensor_1'), 'ok',
    'also for what was denied before, and is found later'
);

select finish();
rollback;
