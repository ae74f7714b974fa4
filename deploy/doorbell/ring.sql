-- Deploy fencepost:doorbell/ring to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.ring(p_class text)
    returns void
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
    perform ledger.require_class(p_class);
    perform pg_notify('fencepost', p_class);
end
$fn$;

comment on function kernel.ring(text) is
$doc$Rings the doorbell: NOTIFY fencepost with the class's name and nothing else.

Parameters
    p_class  the class in which there may be something to do

To be called after the commit that made something ready, in a transaction of its own: one that
notifies can fail at COMMIT, and commits one after the other. The tables are the truth; a bell that
is lost costs waiting until the next look, and a false one costs an empty look.

Errors
    KN101, KN102$doc$;

grant execute on function kernel.ring(text) to
    fencepost_sensor, fencepost_worker, fencepost_verifier, fencepost_reaper,
    fencepost_admin, fencepost_auditor;

commit;
