-- Deploy fencepost:attempt/submit to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.submit(
    p_class           text,
    p_campaign_id     bigint,
    p_generation      bigint,
    p_token           uuid,
    p_fingerprint     text,
    p_approach        text,
    p_result          jsonb,
    p_evidence_uri    text  default null,
    p_evidence_sha256 bytea default null
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
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require('p_fingerprint', p_fingerprint is not null);
    perform ledger.require_text('p_fingerprint', p_fingerprint, 200);
    perform ledger.require_text('p_approach', p_approach, 4096);
    perform ledger.require_object('p_result', p_result);
    perform ledger.require_evidence(p_evidence_uri, p_evidence_sha256);
    if not ledger.is_enrolled(p_class, 'worker') then
        return ledger.forbid('submit', p_class);
    end if;

    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array(
        'submit', p_fingerprint, p_approach, p_result, p_evidence_uri,
        encode(p_evidence_sha256, 'hex')
    ));

    v_campaign := ledger.lock_lease(p_class, p_campaign_id, p_generation, v_token, '{leased}');
    if v_campaign.campaign_id is null then
        return ledger.repeated_ending(
            'submit', p_class, p_campaign_id, p_generation, v_token, v_content
        );
    end if;

    if v_campaign.promotes and (
        jsonb_typeof(p_result -> 'base') is distinct from 'string'
        or jsonb_typeof(p_result -> 'commit') is distinct from 'string'
    ) then
        raise exception 'the result names no base and commit'
            using errcode = 'KN102',
                  detail  = 'The class promotes: the result must say what from and what to.',
                  hint    = 'Pass {"base": "…", "commit": "…", …} as p_result.';
    end if;
    if v_campaign.needs_evidence and p_evidence_uri is null then
        return ledger.refuse(
            'submit', 'no_evidence', p_class, 'this class wants evidence with a submission',
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;
    if p_fingerprint = any (ledger.refused_fingerprints(p_class, p_campaign_id)) then
        return ledger.refuse(
            'submit', 'repeated', p_class, 'an earlier attempt had this very outcome',
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;

    if ledger.open_operation_bars(v_campaign, 'submit') then
        return ledger.refuse(
            'submit', 'operation_open', p_class, 'an external operation of the campaign is open',
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;

    v_now := ledger.clock();
    update ledger.attempt as a
    set submitted_at     = v_now,
        submitted_sha256 = v_content,
        fingerprint      = p_fingerprint,
        approach         = p_approach,
        result           = p_result,
        evidence_uri     = p_evidence_uri,
        evidence_sha256  = p_evidence_sha256
    where a.class = p_class
      and a.campaign_id = p_campaign_id
      and a.attempt_no = v_campaign.attempt_count;

    v_campaign.next_attempt_at := v_now;
    v_campaign.phase_since     := v_now;
    v_campaign.evidence_uri    := p_evidence_uri;
    v_campaign.evidence_sha256 := p_evidence_sha256;
    v_campaign := ledger.move(
        v_campaign, 'submit', 'attempted', v_now,
        jsonb_build_object('attempt', v_campaign.attempt_count, 'fingerprint', p_fingerprint),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.submit(
    text, bigint, bigint, uuid, text, text, jsonb, text, bytea
) is
$doc$Hands an attempt's result over for verification and gives the lease back.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token            the token of the claim
    p_fingerprint      what identifies the outcome, up to 200 bytes; for Git, the patch id
    p_approach         what was tried, up to 4096 bytes, for the attempts that follow; or null
    p_result           an object of up to 65536 bytes; for Git {"repository", "ref", "base",
                       "commit", "pushed_ref"}, of which a class that promotes needs base and commit
    p_evidence_uri     where the worker's own evidence is kept, up to 4096 bytes; or null
    p_evidence_sha256  its digest, 32 bytes; null with the URI

A lease that has run out is no hindrance while nobody else has taken the campaign.

Answers
    ok (duplicate: submitted before with this content), forbidden, stale, not_holder, illegal,
    repeated (the fingerprint of an unsuccessful attempt), no_evidence, operation_open

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (leased to attempted), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.submit(
    text, bigint, bigint, uuid, text, text, jsonb, text, bytea
) to fencepost_worker;

commit;
