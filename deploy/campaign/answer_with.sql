-- Deploy fencepost:campaign/answer_with to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.answer_with(
    p_campaign  ledger.campaign,
    p_moved     boolean,
    p_duplicate boolean default false,
    p_note      text    default null
)
    returns kernel.receipt
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select row(
        'ok', p_duplicate, p_moved, p_note,
        p_campaign.class, p_campaign.campaign_id, p_campaign.generation, p_campaign.state,
        p_campaign.lease_expires_at, null
    )::kernel.receipt;
$fn$;

comment on function ledger.answer_with(ledger.campaign, boolean, boolean, text) is
$doc$The receipt of a call that was carried out, on the campaign as it stands.$doc$;

create or replace function ledger.campaign_of(p_class text, p_campaign_id bigint)
    returns ledger.campaign
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign ledger.campaign;
begin
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class and c.campaign_id = p_campaign_id;
    if not found then
        raise exception 'class % has no campaign %', p_class, p_campaign_id
            using errcode = 'KN108',
                  detail  = 'It never was, is of another class, or was buried by kernel.prune.',
                  hint    = 'Take the id from a lease or from audit.campaigns.';
    end if;
    return v_campaign;
end
$fn$;

comment on function ledger.campaign_of(text, bigint) is
$doc$The campaign as it stands, unlocked; raises KN108 unknown_campaign.$doc$;

commit;
