-- ledger.observation is begun once and reported once, whoever is at the keyboard.
\ir ../_support/fixture.psql
select plan(55);

select testing.target_in('parser', 'fix');
select testing.must('sensor_1', format(
    'select * from kernel.begin_observation(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'parser', testing.token('begun')
));
select testing.open('lexer');

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        format('update ledger.observation set %s where target = ''parser''', c.change), 'KN902',
        'UPDATE of an observation is refused',
        format('ledger.observation keeps its %s against %s', split_part(c.change, ' ', 1), p_who)
    )
    from (values
        ('class = ''ship'''), ('target = ''lexer'''), ('observation_no = 2'),
        ('principal = ''sensor_2'''), ('principal_oid = 1'), ('token_sha256 = ''\x00'''),
        ('begun_at = begun_at - interval ''1 s'''), ('slot_at = null'),
        ('seen_campaign_id = 1, seen_state = ''verified'', seen_generation = 1'),
        ('last_campaign_id = 1')
    ) as c (change);
    return query select testing.raises(
        format('update ledger.observation set %s where target = ''lexer''', c.change), 'KN902',
        'UPDATE of an observation is refused',
        format('ledger.observation keeps a report''s %s against %s', split_part(c.change, ' ', 1),
               p_who)
    )
    from (values
        ('is_green = true'), ('summary = null'), ('note = null'), ('reported_at = now()'),
        ('reported_at = null, is_green = null, report_sha256 = null'), ('evidence_uri = ''x''')
    ) as c (change);
    return next testing.raises(
        'delete from ledger.observation', 'KN902', 'DELETE of an observation is refused',
        'ledger.observation loses no row to ' || p_who
    );
    return next testing.raises(
        'truncate ledger.observation cascade', 'KN902', null,
        'ledger.observation is not truncated by ' || p_who
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

set local session authorization sensor_1;
select testing.raises(
    'select from ledger.observation', '42501', 'permission denied for schema ledger',
    'ledger.observation is private'
);

reset session authorization;
select finish();
rollback;
