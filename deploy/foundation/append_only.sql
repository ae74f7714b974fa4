-- Deploy fencepost:foundation/append_only to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg__append_only()
    returns trigger
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
    raise exception '% of ledger.% is refused', tg_op, tg_table_name
        using errcode = 'KN902',
              detail  = 'Rows of this table are never changed or removed.',
              hint    = 'Leave them; what was wrong is put right by a later row.';
end
$fn$;

comment on function ledger.tg__append_only() is
$doc$Refuses whatever it is fired for, to the owner and to superusers too.

Errors
    KN902 append_only$doc$;

commit;
