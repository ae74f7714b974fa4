-- Deploy fencepost:campaign/lineage to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.lineage(p_class text, p_campaign_id bigint)
    returns setof bigint
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    with recursive line (campaign_id, previous_campaign_id) as (
        select c.campaign_id, c.previous_campaign_id
        from ledger.campaign as c
        where c.class = p_class and c.campaign_id = p_campaign_id
        union all
        select c.campaign_id, c.previous_campaign_id
        from line as l
        join ledger.campaign as c
            on c.class = p_class and c.campaign_id = l.previous_campaign_id
    )
    select l.campaign_id from line as l;
$fn$;

comment on function ledger.lineage(text, bigint) is
$doc$The campaign and those that it inherits from, newest first.$doc$;

commit;
