-- Deploy fencepost:watch/classes to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.classes()
    returns setof text
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
begin
    return query
    select c.class
    from ledger.class as c
    where ledger.session_is('reaper')
       or ledger.session_is('admin')
       or ledger.session_is('auditor')
       or ledger.is_enrolled(c.class, 'worker')
       or ledger.is_enrolled(c.class, 'verifier')
       or ledger.is_enrolled(c.class, 'sensor')
    order by c.class;
end
$fn$;

comment on function kernel.classes() is
$doc$The classes that concern the caller: all of them to a reaper, admin or auditor, else those in
which its principal is enrolled.$doc$;

grant execute on function kernel.classes() to
    fencepost_sensor, fencepost_worker, fencepost_verifier, fencepost_reaper,
    fencepost_admin, fencepost_auditor;

commit;
