-- ledger.config_event is append-only, whoever is at the keyboard; so are bundles and verdicts.
\ir ../_support/fixture.psql
select plan(31);

select testing.verified();

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        s.statement, 'KN902', null, format('ledger is append-only for %s: %s', p_who, s.statement)
    )
    from (values
        ('update ledger.config_event set by_principal = ''admin_2'''),
        ('update ledger.config_event set after = after'),
        ('delete from ledger.config_event'),
        ('truncate ledger.config_event'),
        ('update ledger.verdict set verdict = ''rejected'''),
        ('delete from ledger.verdict'),
        ('truncate ledger.verdict'),
        ('update ledger.bundle set content = ''{}'''),
        ('delete from ledger.bundle'),
        ('truncate ledger.bundle')
    ) as s (statement);
end
$fn$;

select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('its owner');
reset session authorization;
set local session_replication_role = replica;
select testing.by_hand('a superuser while other triggers are off');
set local session_replication_role = origin;

set local session authorization auditor_1;
select testing.raises(
    'select from ledger.config_event', '42501', 'permission denied for schema ledger',
    'ledger.config_event is private'
);

reset session authorization;
select finish();
rollback;
