-- Deploy fencepost:promotion/outdate to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.outdate(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid,
    p_reason      text
)
    returns kernel.receipt
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
declare
    v_class    ledger.class;
    v_token    bytea;
    v_content  bytea;
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require('p_reason', p_reason is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.is_enrolled(p_class, 'verifier') then
        return ledger.forbid('outdate', p_class);
    end if;

    v_class   := ledger.known_class(p_class);
    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array('outdate', p_reason));

    v_campaign := ledger.lock_lease(p_class, p_campaign_id, p_generation, v_token, '{promoting}');
    if v_campaign.campaign_id is null then
        return ledger.repeated_promotion(
            'outdate', p_class, p_campaign_id, p_generation, v_token, v_content
        );
    end if;

    if ledger.open_operation_bars(v_campaign, 'outdate') then
        return ledger.refuse(
            'outdate', 'operation_open', p_class,
            'an external operation of the campaign is started or unknown',
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;

    v_now := ledger.clock();
    perform ledger.settle_promotion(v_campaign, v_content, null);
    perform ledger.end_attempt(v_campaign, 'outdated', v_now, p_reason);

    -- A loss, not a failure: the same outcome on the target's new state may be right.
    v_campaign.loss_count      := v_campaign.loss_count + 1;
    v_campaign.failure_reason  := p_reason;
    v_campaign.parked_for      := ledger.spent_budget(v_campaign, v_class, 'work');
    v_campaign.next_attempt_at := v_now;
    v_campaign := ledger.move(
        v_campaign, 'outdate',
        case when v_campaign.parked_for is null then 'ready' else 'parked' end,
        v_now,
        jsonb_build_object('attempt', v_campaign.attempt_count, 'reason', p_reason,
                           'parked_for', v_campaign.parked_for),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.outdate(text, bigint, bigint, uuid, text) is
$doc$Gives up an accepted attempt because its target has moved on without it.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token   the token of the claim
    p_reason  what the target held instead, up to 4096 bytes

To be called only after the target was read: the result is not reachable from it, and it no longer
holds the value that the attempt began with. Counts as a loss; the fingerprint stays usable.

Answers
    ok (duplicate: recorded before with this reason), forbidden, stale, not_holder, illegal,
    operation_open

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (promoting to ready, or to parked where loss_budget has run out),
    ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.outdate(text, bigint, bigint, uuid, text) to fencepost_verifier;

commit;
