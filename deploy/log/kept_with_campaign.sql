-- Deploy fencepost:log/kept_with_campaign to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_pruned_now(p_class text, p_campaign_id bigint)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.tombstone as t
        where t.class = p_class
          and t.campaign_id = p_campaign_id
          and t.pruned_xid = pg_current_xact_id_if_assigned()
    );
$fn$;

comment on function ledger.is_pruned_now(text, bigint) is
$doc$Whether this very transaction has set the campaign's tombstone.$doc$;

create or replace function ledger.tg__kept_with_campaign()
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
    if tg_op = 'DELETE' and ledger.is_pruned_now(old.class, old.campaign_id) then
        return old;
    end if;
    raise exception '% of ledger.% is refused', tg_op, tg_table_name
        using errcode = 'KN902',
              detail  = 'Rows of this table are kept as long as their campaign.',
              hint    = 'Call kernel.prune for campaigns that closed long ago.';
end
$fn$;

comment on function ledger.tg__kept_with_campaign() is
$doc$Refuses every change, and every deletion but that of a campaign which is being pruned.

Errors
    KN902 append_only$doc$;

commit;
