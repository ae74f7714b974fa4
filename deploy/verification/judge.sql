-- Deploy fencepost:verification/judge to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.judge(
    p_class           text,
    p_campaign_id     bigint,
    p_generation      bigint,
    p_token           uuid,
    p_verdict         text,
    p_bundle_sha256   bytea   default null,
    p_fingerprint     text    default null,
    p_command         text    default null,
    p_exit_code       integer default null,
    p_reason          text    default null,
    p_evidence_uri    text    default null,
    p_evidence_sha256 bytea   default null
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
    v_class      ledger.class;
    v_token      bytea;
    v_content    bytea;
    v_campaign   ledger.campaign;
    v_attempt    ledger.attempt;
    v_bar        text;
    v_message    text;
    v_family     text;
    v_abstainers integer;
    v_now        timestamptz;
    v_transition text;
    v_to_state   text;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require('p_verdict', p_verdict is not null);
    if p_verdict not in ('accepted', 'rejected', 'unverifiable') then
        raise exception 'there is no such verdict'
            using errcode = 'KN102',
                  detail  = format('p_verdict is "%s".', left(p_verdict, 63)),
                  hint    = 'The verdicts are accepted, rejected and unverifiable.';
    end if;
    perform ledger.require_text('p_fingerprint', p_fingerprint, 200);
    perform ledger.require_text('p_command', p_command, 4096);
    perform ledger.require_text('p_reason', p_reason, 4096);
    perform ledger.require_evidence(p_evidence_uri, p_evidence_sha256);
    perform ledger.require('p_reason', p_verdict = 'accepted' or p_reason is not null);
    perform ledger.require('p_bundle_sha256',
                           p_verdict = 'unverifiable' or p_bundle_sha256 is not null);
    if octet_length(p_bundle_sha256) <> 32 then
        raise exception 'p_bundle_sha256 is not a SHA-256'
            using errcode = 'KN102',
                  detail  = format('It has %s bytes; a SHA-256 has 32.',
                                   octet_length(p_bundle_sha256)),
                  hint    = 'Pass the bundle_sha256 that kernel.bundle returned.';
    end if;
    if p_verdict = 'accepted' then
        perform ledger.require('p_fingerprint', p_fingerprint is not null);
        perform ledger.require('p_exit_code', p_exit_code is not null);
        if p_exit_code <> 0 then
            raise exception 'an acceptance command that ended with % does not accept', p_exit_code
                using errcode = 'KN114',
                      detail  = 'Accepted needs exit code 0.',
                      hint    = 'Judge rejected, with a reason.';
        end if;
    end if;
    if not ledger.is_enrolled(p_class, 'verifier') then
        return ledger.forbid('judge', p_class);
    end if;

    v_class   := ledger.known_class(p_class);
    v_token   := ledger.token_digest(p_token);
    v_content := ledger.digest(jsonb_build_array(
        'judge', p_verdict, encode(p_bundle_sha256, 'hex'), p_fingerprint, p_command, p_exit_code,
        p_reason, p_evidence_uri, encode(p_evidence_sha256, 'hex')
    ));

    v_campaign := ledger.lock_lease(p_class, p_campaign_id, p_generation, v_token, '{verifying}');
    if v_campaign.campaign_id is null then
        perform
        from ledger.verdict as v
        where v.class = p_class
          and v.campaign_id = p_campaign_id
          and v.generation = p_generation
          and v.principal = session_user
          and v.principal_oid = ledger.session_oid()
          and v.token_sha256 = v_token
          and v.content_sha256 = v_content;
        if found then
            return ledger.answer_with(ledger.campaign_of(p_class, p_campaign_id), false, true);
        end if;
        -- The lease goes on after an acceptance; another verdict under it is stale, not early.
        perform
        from ledger.verdict as v
        where v.class = p_class
          and v.campaign_id = p_campaign_id
          and v.generation = p_generation
          and v.principal = session_user
          and v.principal_oid = ledger.session_oid()
          and v.token_sha256 = v_token;
        if found then
            v_campaign := ledger.campaign_of(p_class, p_campaign_id);
            return ledger.refuse(
                'judge', 'stale', p_class,
                format('another verdict under generation %s has been given', p_generation),
                p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
            );
        end if;
        return ledger.refuse_lease('judge', p_class, p_campaign_id, p_generation, v_token);
    end if;

    -- It may have been paused while this call waited for the lock.
    v_class   := ledger.known_class(p_class);
    v_attempt := ledger.live_attempt(v_campaign);
    v_bar := ledger.judge_bar(
        p_class, p_campaign_id, v_attempt.attempt_no, v_campaign.separate_family
    );
    v_message := 'this principal may not judge this attempt';
    if v_bar is null and p_verdict <> 'unverifiable' and not exists (
        select
        from ledger.bundle as b
        where b.class = p_class
          and b.campaign_id = p_campaign_id
          and b.attempt_no = v_attempt.attempt_no
          and b.sha256 = p_bundle_sha256
    ) then
        v_bar     := 'bundle_mismatch';
        v_message := 'the digest is not that of the bundle';
    end if;
    if v_bar is null and p_verdict = 'accepted' and p_fingerprint <> v_attempt.fingerprint then
        v_bar     := 'bundle_mismatch';
        v_message := 'the verifier''s fingerprint is not the attempt''s';
    end if;
    if v_bar is null and p_verdict = 'accepted'
        and p_fingerprint = any (ledger.refused_fingerprints(p_class, p_campaign_id))
    then
        v_bar     := 'repeated';
        v_message := 'an earlier attempt had this very outcome';
    end if;
    if v_bar is null and p_verdict = 'accepted' and v_class.is_paused then
        v_bar     := 'paused';
        v_message := 'the class is paused: nothing is accepted';
    end if;
    if v_bar is null and p_verdict <> 'unverifiable' and p_evidence_uri is null then
        v_bar     := 'no_evidence';
        v_message := 'a verdict rests on evidence';
    end if;
    if v_bar is null and ledger.open_operation_bars(
        v_campaign,
        case p_verdict
            when 'accepted' then 'accept'
            when 'rejected' then 'reject'
            else 'abstain'
        end
    ) then
        v_bar     := 'operation_open';
        v_message := 'an external operation of the campaign is open';
    end if;
    if v_bar is not null then
        return ledger.refuse(
            'judge', v_bar, p_class, v_message,
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;

    select p.family into v_family from ledger.principal as p where p.principal = session_user;
    v_now := ledger.clock();
    insert into ledger.verdict
        (class, campaign_id, attempt_no, generation, verdict, principal, principal_oid,
         token_sha256, family, fingerprint, command, exit_code, reason, evidence_uri,
         evidence_sha256, judged_at, content_sha256)
    values
        (p_class, p_campaign_id, v_attempt.attempt_no, p_generation, p_verdict, session_user,
         v_campaign.lease_principal_oid, v_token, v_family, p_fingerprint, p_command, p_exit_code,
         p_reason, p_evidence_uri, p_evidence_sha256, v_now, v_content);

    if p_verdict = 'unverifiable' then
        select count(distinct v.principal_oid)::integer into v_abstainers
        from ledger.verdict as v
        where v.class = p_class
          and v.campaign_id = p_campaign_id
          and v.attempt_no = v_attempt.attempt_no
          and v.verdict = 'unverifiable'
          and v.generation > v_campaign.abstain_floor;
        v_transition := 'abstain';
        v_to_state   := 'attempted';
        if v_abstainers >= v_class.abstain_budget then
            v_to_state            := 'parked';
            v_campaign.parked_for := 'abstain_budget';
        end if;
        v_campaign.next_attempt_at := ledger.retry_at(v_class, v_abstainers, v_now);
    elsif p_verdict = 'rejected' then
        perform ledger.end_attempt(v_campaign, 'rejected', v_now, p_reason);
        v_transition := 'reject';
        v_campaign.failure_count   := v_campaign.failure_count + 1;
        v_campaign.failure_reason  := p_reason;
        v_campaign.parked_for      := ledger.spent_budget(v_campaign, v_class, 'work');
        v_campaign.next_attempt_at := ledger.retry_at(v_class, v_campaign.failure_count, v_now);
        v_to_state := case when v_campaign.parked_for is null then 'ready' else 'parked' end;
    else
        v_transition := 'accept';
        v_to_state   := case when v_campaign.promotes then 'promoting' else 'verified' end;
        v_campaign.phase_since := v_now;
    end if;
    if p_evidence_uri is not null then
        v_campaign.evidence_uri    := p_evidence_uri;
        v_campaign.evidence_sha256 := p_evidence_sha256;
    end if;

    v_campaign := ledger.move(
        v_campaign, v_transition, v_to_state, v_now,
        jsonb_build_object('attempt', v_attempt.attempt_no, 'reason', p_reason,
                           'exit_code', p_exit_code, 'parked_for', v_campaign.parked_for),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.judge(
    text, bigint, bigint, uuid, text, bytea, text, text, integer, text, text, bytea
) is
$doc$Records a verifier's verdict on a submitted attempt, once and for good.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token            the token of the claim
    p_verdict          accepted, rejected, or unverifiable (an abstention, which ends nothing)
    p_bundle_sha256    the digest of the bundle that was judged, 32 bytes; not for unverifiable
    p_fingerprint      as computed from a clean checkout of one's own, up to 200 bytes; accepted
                       needs it, and it must be the attempt's
    p_command          what was run, up to 4096 bytes; or null
    p_exit_code        how it ended; accepted needs 0
    p_reason           why, up to 4096 bytes; rejected and unverifiable need it
    p_evidence_uri     where the output is kept, up to 4096 bytes; accepted and rejected need it
    p_evidence_sha256  its digest, 32 bytes

Accepted in a class that promotes, the lease goes on: the caller promotes under the same generation.

Answers
    ok (duplicate: judged before with this content), forbidden, stale, not_holder, illegal,
    self_verdict, same_family, bundle_mismatch (digest or fingerprint), repeated, paused (accepted),
    no_evidence, operation_open

Errors
    KN101, KN102, KN103, KN108, KN111, KN112, KN114 verdict_contradicts_exit_code

Writes
    ledger.verdict; ledger.campaign (verifying to promoting or verified; to ready or parked; to
    attempted or parked), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.judge(
    text, bigint, bigint, uuid, text, bytea, text, text, integer, text, text, bytea
) to fencepost_verifier;

commit;
