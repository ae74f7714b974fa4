-- Deploy fencepost:verification/bundle to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.bundle(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid
)
    returns kernel.bundle
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
    v_campaign ledger.campaign;
    v_row      ledger.bundle;
    v_receipt  kernel.receipt;
    v_bundle   kernel.bundle;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);

    v_token := ledger.token_digest(p_token);
    if ledger.is_enrolled(p_class, 'verifier') then
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = p_campaign_id
          and c.state in ('verifying', 'promoting')
          and c.lease_principal = session_user
          and c.lease_principal_oid = ledger.session_oid()
          and c.lease_token_sha256 = v_token
          and c.generation = p_generation;
        if found then
            v_receipt := ledger.answer_with(v_campaign, false);
        else
            v_receipt :=
                ledger.refuse_lease('bundle', p_class, p_campaign_id, p_generation, v_token);
        end if;
    else
        v_receipt := ledger.forbid('bundle', p_class);
    end if;

    v_bundle.outcome          := v_receipt.outcome;
    v_bundle.duplicate        := v_receipt.duplicate;
    v_bundle.moved            := v_receipt.moved;
    v_bundle.note             := v_receipt.note;
    v_bundle.class            := v_receipt.class;
    v_bundle.campaign_id      := v_receipt.campaign_id;
    v_bundle.generation       := v_receipt.generation;
    v_bundle.state            := v_receipt.state;
    v_bundle.lease_expires_at := v_receipt.lease_expires_at;
    v_bundle.message          := v_receipt.message;
    if v_receipt.outcome <> 'ok' then
        return v_bundle;
    end if;
    perform ledger.require_committed('the lease was granted', v_campaign.lease_xid);

    select b.* into v_row
    from ledger.bundle as b
    where b.class = p_class
      and b.campaign_id = p_campaign_id
      and b.attempt_no = v_campaign.attempt_count;

    v_bundle.attempt_no           := v_row.attempt_no;
    v_bundle.target               := v_row.content ->> 'target';
    v_bundle.location             := v_row.content -> 'location';
    v_bundle.desired_state        := v_row.content -> 'desired_state';
    v_bundle.acceptance           := v_row.content -> 'acceptance';
    v_bundle.result               := v_row.content -> 'result';
    v_bundle.fingerprint          := v_row.content ->> 'fingerprint';
    v_bundle.refused_fingerprints := ledger.refused_fingerprints(p_class, p_campaign_id);
    v_bundle.bundle_sha256        := v_row.sha256;
    v_bundle.promotes             := v_campaign.promotes;
    v_bundle.operations           := ledger.unknown_operations(p_class, p_campaign_id);
    return v_bundle;
end
$fn$;

comment on function kernel.bundle(text, bigint, bigint, uuid) is
$doc$Gives the holder of a verification or promotion lease what there is to judge: the submitted
result, the acceptance as it was frozen when the campaign opened, and the digest of both.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token                                the token of the claim

Answers
    ok, forbidden, stale, not_holder, illegal

Errors
    KN101, KN102, KN108, KN111, KN112, KN113 not_yet_committed$doc$;

grant execute on function kernel.bundle(text, bigint, bigint, uuid) to fencepost_verifier;

commit;
