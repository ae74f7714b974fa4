-- Deploy fencepost:recovery/lose to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.lose(
    p_campaign   ledger.campaign,
    p_class      ledger.class,
    p_at         timestamptz,
    p_reason     text,
    p_is_counted boolean
)
    returns ledger.campaign
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_transition text;
    v_to_state   text;
    v_phase      text;
begin
    -- next_attempt_at stays: a campaign that is taken back keeps its age.
    if p_campaign.state = 'leased' then
        v_transition := 'lose';
        v_to_state   := 'ready';
        v_phase      := 'work';
        p_campaign.loss_count := p_campaign.loss_count + p_is_counted::integer;
        perform ledger.end_attempt(p_campaign, 'lost', p_at, p_reason);
    elsif p_campaign.state = 'verifying' then
        v_transition := 'lose_verification';
        v_to_state   := 'attempted';
        v_phase      := 'verification';
        p_campaign.verification_loss_count :=
            p_campaign.verification_loss_count + p_is_counted::integer;
    else
        v_transition := 'lose_promotion';
        v_to_state   := 'accepted';
        v_phase      := 'promotion';
        p_campaign.promotion_loss_count :=
            p_campaign.promotion_loss_count + p_is_counted::integer;
    end if;
    if p_is_counted then
        p_campaign.parked_for := ledger.spent_budget(p_campaign, p_class, v_phase);
    end if;

    return ledger.move(
        p_campaign, v_transition,
        case when p_campaign.parked_for is null then v_to_state else 'parked' end,
        p_at,
        jsonb_build_object('attempt', p_campaign.attempt_count, 'reason', p_reason,
                           'parked_for', p_campaign.parked_for)
    );
end
$fn$;

comment on function ledger.lose(ledger.campaign, ledger.class, timestamptz, text, boolean) is
$doc$Takes a lease away from whoever holds it.

Parameters
    p_campaign    the campaign, locked; leased, verifying or promoting
    p_class       its class
    p_at          when, read after the lock
    p_reason      why, for the attempts that follow
    p_is_counted  whether it counts against the phase's loss budget

A lost lease is not a failure: a submitted result stays, and work goes back to ready at its age.

Writes
    ledger.campaign, ledger.attempt, ledger.campaign_event$doc$;

commit;
