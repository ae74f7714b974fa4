-- Deploy fencepost:watch/api_version to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.api_version()
    returns integer
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
    return 1;
end
$fn$;

comment on function kernel.api_version() is
$doc$The version of the kernel's functions and types: raised when a caller of the one before would
go wrong. A client says which it speaks, and stops where this is another.$doc$;

grant execute on function kernel.api_version() to
    fencepost_sensor, fencepost_worker, fencepost_verifier, fencepost_reaper,
    fencepost_admin, fencepost_auditor, fencepost_collector;

commit;
