-- Deploy fencepost:promotion/promote to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.promote(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid,
    p_old_value   text,
    p_new_value   text,
    p_fence_value text,
    p_read_back   text
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
    v_token    bytea;
    v_content  bytea;
    v_campaign ledger.campaign;
    v_attempt  ledger.attempt;
    v_bar      text;
    v_message  text;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require('p_old_value', p_old_value is not null);
    perform ledger.require_text('p_old_value', p_old_value, 200);
    perform ledger.require('p_new_value', p_new_value is not null);
    perform ledger.require_text('p_new_value', p_new_value, 200);
    perform ledger.require('p_fence_value', p_fence_value is not null);
    perform ledger.require_text('p_fence_value', p_fence_value, 200);
    perform ledger.require('p_read_back', p_read_back is not null);
    perform ledger.require_text('p_read_back', p_read_back, 200);
    if not ledger.is_enrolled(p_class, 'verifier') then
        return ledger.forbid('promote', p_class);
    end if;

    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array(
        'promote', p_old_value, p_new_value, p_fence_value, p_read_back
    ));

    v_campaign := ledger.lock_lease(p_class, p_campaign_id, p_generation, v_token, '{promoting}');
    if v_campaign.campaign_id is null then
        return ledger.repeated_promotion(
            'promote', p_class, p_campaign_id, p_generation, v_token, v_content
        );
    end if;

    v_attempt := ledger.live_attempt(v_campaign);
    v_bar     := ledger.judge_bar(
        p_class, p_campaign_id, v_attempt.attempt_no, v_campaign.separate_family
    );
    v_message := 'this principal may not promote this attempt';
    if v_bar is null and p_new_value is distinct from v_attempt.result ->> 'commit' then
        v_bar     := 'bundle_mismatch';
        v_message := 'the new value is not the result that was accepted';
    end if;
    if v_bar is not null then
        return ledger.refuse(
            'promote', v_bar, p_class, v_message,
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;

    v_now := ledger.clock();
    perform ledger.settle_promotion(v_campaign, v_content, v_now);
    v_campaign.phase_since := v_now;
    v_campaign := ledger.move(
        v_campaign, 'promote', 'verified', v_now,
        jsonb_build_object('attempt', v_attempt.attempt_no, 'old', p_old_value, 'new', p_new_value,
                           'fence', p_fence_value, 'read_back', p_read_back),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.promote(text, bigint, bigint, uuid, text, text, text, text) is
$doc$Records that an accepted result has been moved to its target, and was read back there.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token        the token of the claim
    p_old_value    what the target held before, up to 200 bytes; for Git, the ref's SHA
    p_new_value    what it was moved to; the "commit" of the result that was accepted
    p_fence_value  the fence's value that was read before the push or written by it
    p_read_back    what the target held when it was read after the push; the result is reachable
                   from it, which is for the caller to have made sure of

The four stand in the event.

Answers
    ok (duplicate: recorded before with this content), forbidden, stale, not_holder, illegal,
    self_verdict, same_family, bundle_mismatch (p_new_value)

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (promoting to verified), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.promote(text, bigint, bigint, uuid, text, text, text, text)
    to fencepost_verifier;

commit;
