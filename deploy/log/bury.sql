-- Deploy fencepost:log/bury to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.bury(p_campaign ledger.campaign, p_at timestamptz)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_epochs  integer[];
    v_xids    xid8[];
    v_digests bytea[];
    v_sha256  bytea;
begin
    select array_agg(e.epoch order by e.event_no), array_agg(e.xid order by e.event_no),
           array_agg(ledger.event_digest(e) order by e.event_no)
    into v_epochs, v_xids, v_digests
    from ledger.campaign_event as e
    where e.class = p_campaign.class and e.campaign_id = p_campaign.campaign_id;
    v_sha256 := ledger.chain(v_digests);

    insert into ledger.tombstone
        (class, campaign_id, target, final_state, generation, attempt_count, event_count,
         opened_at, closed_at, event_epochs, event_xids, event_digests, sha256, pruned_at,
         pruned_by, pruned_xid)
    values
        (p_campaign.class, p_campaign.campaign_id, p_campaign.target, p_campaign.state,
         p_campaign.generation, p_campaign.attempt_count, p_campaign.event_count,
         p_campaign.opened_at, p_campaign.closed_at, v_epochs, v_xids, v_digests, v_sha256, p_at,
         session_user, pg_current_xact_id());

    delete from ledger.bundle as b
    where b.class = p_campaign.class and b.campaign_id = p_campaign.campaign_id;
    delete from ledger.verdict as v
    where v.class = p_campaign.class and v.campaign_id = p_campaign.campaign_id;
    delete from ledger.allowance as a
    where a.class = p_campaign.class and a.campaign_id = p_campaign.campaign_id;
    delete from ledger.attempt as a
    where a.class = p_campaign.class and a.campaign_id = p_campaign.campaign_id;
    delete from ledger.campaign_event as e
    where e.class = p_campaign.class and e.campaign_id = p_campaign.campaign_id;
    delete from ledger.campaign as c
    where c.class = p_campaign.class and c.campaign_id = p_campaign.campaign_id;
end
$fn$;

comment on function ledger.bury(ledger.campaign, timestamptz) is
$doc$Sets the tombstone of a closed campaign and deletes its rows, in one transaction.

Writes
    ledger.tombstone; ledger.bundle, ledger.verdict, ledger.allowance, ledger.attempt,
    ledger.campaign_event, ledger.campaign (deleted)$doc$;

commit;
