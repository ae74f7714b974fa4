-- Deploy fencepost:attempt/end_attempt to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.end_attempt(
    p_campaign       ledger.campaign,
    p_ending         text,
    p_at             timestamptz,
    p_reason         text  default null,
    p_content_sha256 bytea default null
)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    update ledger.attempt as a
    set ended_at     = p_at,
        ended_sha256 = p_content_sha256,
        ending       = p_ending,
        reason       = p_reason
    where a.class = p_campaign.class
      and a.campaign_id = p_campaign.campaign_id
      and a.attempt_no = p_campaign.attempt_count
      and a.ended_at is null;
$fn$;

comment on function ledger.end_attempt(ledger.campaign, text, timestamptz, text, bytea) is
$doc$Ends the campaign's live attempt, if it has one.

Parameters
    p_campaign        the campaign, locked
    p_ending          failed, released, lost, rejected, outdated, contradicted, confirmed, withdrawn
    p_at              when
    p_reason          why, for the next attempt
    p_content_sha256  the digest of the call, by which its repeat is recognised

Writes
    ledger.attempt$doc$;

create or replace function ledger.live_attempt(p_campaign ledger.campaign)
    returns ledger.attempt
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select a
    from ledger.attempt as a
    where a.class = p_campaign.class
      and a.campaign_id = p_campaign.campaign_id
      and a.attempt_no = p_campaign.attempt_count
      and a.ended_at is null;
$fn$;

comment on function ledger.live_attempt(ledger.campaign) is
$doc$The campaign's attempt that has not ended; null where there is none.$doc$;

commit;
