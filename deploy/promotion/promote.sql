-- Deploy fencepost:promotion/promote to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.promote(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid
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
    v_token     bytea;
    v_content   bytea;
    v_campaign  ledger.campaign;
    v_attempt   ledger.attempt;
    v_operation ledger.operation;
    v_bar       text;
    v_message   text;
    v_now       timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    if not ledger.is_enrolled(p_class, 'verifier') then
        return ledger.forbid('promote', p_class);
    end if;

    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array('promote'));

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
    if v_bar is null and ledger.open_operation_bars(v_campaign, 'promote') then
        v_bar     := 'operation_open';
        v_message := 'an external operation of the campaign is open';
    end if;
    if v_bar is null then
        select o.* into v_operation
        from ledger.operation as o
        where o.class = p_class
          and o.campaign_id = p_campaign_id
          and o.attempt_no = v_attempt.attempt_no
          and o.kind = 'promote'
          and o.state = 'completed'
          and o.started_at is not null
          and o.expected -> 'after' ->> 'commit' = v_attempt.result ->> 'commit';
        if not found then
            v_bar     := 'no_evidence';
            v_message := 'no completed operation has moved the result to its target';
        end if;
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
        jsonb_build_object('attempt', v_attempt.attempt_no,
                           'operation', v_operation.operation_key,
                           'old', v_operation.expected -> 'before',
                           'new', v_operation.expected -> 'after' -> 'commit',
                           'fence', v_operation.expected -> 'fence',
                           'read_back', v_operation.read_back),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.promote(text, bigint, bigint, uuid) is
$doc$Records that an accepted result has been moved to its target, and was read back there: by an
operation of kind promote, which has been completed.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token   the token of the claim

The event says what the operation does: "old", what the target held before, "new", the "commit" of
the result that was accepted, "fence", the fence's value that was read before, "read_back", what the
target showed afterwards.

Answers
    ok (duplicate: recorded before), forbidden, stale, not_holder, illegal, self_verdict,
    same_family, operation_open, no_evidence (no completed operation moved this result)

Errors
    KN101, KN102, KN108, KN111, KN112

Writes
    ledger.campaign (promoting to verified), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.promote(text, bigint, bigint, uuid) to fencepost_verifier;

commit;
