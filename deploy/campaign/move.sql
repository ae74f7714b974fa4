-- Deploy fencepost:campaign/move to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.move(
    p_campaign       ledger.campaign,
    p_transition     text,
    p_to_state       text,
    p_at             timestamptz,
    p_detail         jsonb default null,
    p_content_sha256 bytea default null
)
    returns ledger.campaign
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_move  ledger.transition;
    v_moved ledger.campaign;
begin
    select t.* into v_move
    from ledger.transition as t
    where t.transition = p_transition
      and t.from_state = p_campaign.state
      and t.to_state = p_to_state;
    -- Where there is no such move the update is refused by the campaign's own trigger.

    if v_move.lease in ('returns', 'revokes') then
        p_campaign.lease_principal     := null;
        p_campaign.lease_principal_oid := null;
        p_campaign.lease_token_sha256  := null;
        p_campaign.lease_label         := null;
        p_campaign.lease_granted_at    := null;
        p_campaign.lease_expires_at    := null;
        p_campaign.lease_xid           := null;
    end if;

    update ledger.campaign as c
    set state                   = p_to_state,
        generation              = c.generation + coalesce(v_move.generation_step, 0),
        priority                = p_campaign.priority,
        lease_principal         = p_campaign.lease_principal,
        lease_principal_oid     = p_campaign.lease_principal_oid,
        lease_token_sha256      = p_campaign.lease_token_sha256,
        lease_label             = p_campaign.lease_label,
        lease_granted_at        = p_campaign.lease_granted_at,
        lease_expires_at        = p_campaign.lease_expires_at,
        lease_xid               = p_campaign.lease_xid,
        attempt_count           = p_campaign.attempt_count,
        failure_count           = p_campaign.failure_count,
        loss_count              = p_campaign.loss_count,
        release_count           = p_campaign.release_count,
        verification_loss_count = p_campaign.verification_loss_count,
        promotion_loss_count    = p_campaign.promotion_loss_count,
        abstain_floor           = p_campaign.abstain_floor,
        next_attempt_at         = p_campaign.next_attempt_at,
        phase_since             = p_campaign.phase_since,
        failure_reason          = p_campaign.failure_reason,
        parked_for              = case when p_to_state = 'parked' then p_campaign.parked_for end,
        evidence_uri            = p_campaign.evidence_uri,
        evidence_sha256         = p_campaign.evidence_sha256,
        closed_at               = case
                                      when p_to_state in ('confirmed', 'cancelled', 'lapsed')
                                      then p_at
                                  end,
        last_transition         = p_transition,
        last_at                 = p_at,
        last_detail             = jsonb_strip_nulls(p_detail),
        last_content_sha256     = p_content_sha256
    where c.class = p_campaign.class
      and c.campaign_id = p_campaign.campaign_id
      and c.state = p_campaign.state
      and c.generation = p_campaign.generation
    returning c.* into v_moved;

    if v_move.lease in ('returns', 'revokes') then
        perform ledger.free_seat(v_moved.class, v_moved.campaign_id);
    end if;
    if v_move.operations in ('settles', 'unstarted') then
        perform ledger.settle_operations(v_moved, p_transition, p_at);
    end if;
    return v_moved;
end
$fn$;

comment on function ledger.move(ledger.campaign, text, text, timestamptz, jsonb, bytea) is
$doc$Writes a campaign's move: the one statement that changes its state.

Parameters
    p_campaign        the row as locked, with whatever the move changes of its counts, its lease,
                      its times and its evidence already set in it
    p_transition      a transition of ledger.transition
    p_to_state        where to
    p_at              when, read after the lock
    p_detail          what the event shall say; nulls are left out
    p_content_sha256  the digest of the call, by which its repeat is recognised

Takes the lease away, frees its seat, raises the generation and settles what external operations
are open, as ledger.transition says. The caller holds the row lock; whether the move is legal for
this session is for the table's trigger to say.

Returns the row as written.

Writes
    ledger.campaign, and by its trigger ledger.campaign_event; ledger.seat, ledger.operation$doc$;

commit;
