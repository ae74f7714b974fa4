-- Deploy fencepost:attempt/fail to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.fail(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid,
    p_reason      text,
    p_approach    text default null,
    p_fingerprint text default null
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
    perform ledger.require_text('p_approach', p_approach, 4096);
    perform ledger.require_text('p_fingerprint', p_fingerprint, 200);
    if not ledger.is_enrolled(p_class, 'worker') then
        return ledger.forbid('fail', p_class);
    end if;

    v_class   := ledger.known_class(p_class);
    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array('fail', p_reason, p_approach, p_fingerprint));

    v_campaign := ledger.lock_lease(p_class, p_campaign_id, p_generation, v_token, '{leased}');
    if v_campaign.campaign_id is null then
        return ledger.repeated_ending(
            'fail', p_class, p_campaign_id, p_generation, v_token, v_content
        );
    end if;

    v_now := ledger.clock();
    update ledger.attempt as a
    set approach    = p_approach,
        fingerprint = p_fingerprint
    where a.class = p_class
      and a.campaign_id = p_campaign_id
      and a.attempt_no = v_campaign.attempt_count;
    perform ledger.end_attempt(v_campaign, 'failed', v_now, p_reason, v_content);

    v_campaign.failure_count   := v_campaign.failure_count + 1;
    v_campaign.failure_reason  := p_reason;
    v_campaign.parked_for      := ledger.spent_budget(v_campaign, v_class, 'work');
    v_campaign.next_attempt_at := ledger.retry_at(v_class, v_campaign.failure_count, v_now);
    v_campaign := ledger.move(
        v_campaign, 'fail', case when v_campaign.parked_for is null then 'ready' else 'parked' end,
        v_now,
        jsonb_build_object('attempt', v_campaign.attempt_count, 'reason', p_reason,
                           'parked_for', v_campaign.parked_for),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.fail(text, bigint, bigint, uuid, text, text, text) is
$doc$Ends an attempt that came to nothing; the campaign waits for the next one, or parks.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token        the token of the claim
    p_reason       why, up to 4096 bytes, for the attempts that follow
    p_approach     what was tried, up to 4096 bytes; or null
    p_fingerprint  what identifies the outcome, up to 200 bytes; it is refused from now on; or null

Answers
    ok (duplicate: failed before with this content), forbidden, stale, not_holder, illegal

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (leased to ready, or to parked where attempt_budget has run out),
    ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.fail(text, bigint, bigint, uuid, text, text, text)
    to fencepost_worker;

commit;
