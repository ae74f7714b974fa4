-- Deploy fencepost:lease/brief to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.require_committed(p_what text, p_xid xid8)
    returns void
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_xid = pg_current_xact_id_if_assigned() then
        raise exception '% in this same transaction', p_what
            using errcode = 'KN113',
                  detail  = 'What is not yet durable is not shown, and nothing is done for it.',
                  hint    = 'Commit first, then call again.';
    end if;
end
$fn$;

comment on function ledger.require_committed(text, xid8) is
$doc$Raises KN113 not_yet_committed where p_xid is this very transaction.

Parameters
    p_what  what it did, for the message: "the lease was granted"
    p_xid   the transaction that did it$doc$;

create or replace function kernel.brief(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid
)
    returns kernel.assignment
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
    v_class    ledger.class;
    v_receipt  kernel.receipt;
    v_brief    kernel.assignment;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);

    v_token := ledger.token_digest(p_token);
    if ledger.is_enrolled(p_class, 'worker') then
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = p_campaign_id
          and c.state = 'leased'
          and c.lease_principal = session_user
          and c.lease_principal_oid = ledger.session_oid()
          and c.lease_token_sha256 = v_token
          and c.generation = p_generation;
        if found then
            v_receipt := ledger.answer_with(v_campaign, false);
        else
            v_receipt :=
                ledger.refuse_lease('brief', p_class, p_campaign_id, p_generation, v_token);
        end if;
    else
        v_receipt := ledger.forbid('brief', p_class);
    end if;

    v_brief.outcome          := v_receipt.outcome;
    v_brief.duplicate        := v_receipt.duplicate;
    v_brief.moved            := v_receipt.moved;
    v_brief.note             := v_receipt.note;
    v_brief.class            := v_receipt.class;
    v_brief.campaign_id      := v_receipt.campaign_id;
    v_brief.generation       := v_receipt.generation;
    v_brief.state            := v_receipt.state;
    v_brief.lease_expires_at := v_receipt.lease_expires_at;
    v_brief.message          := v_receipt.message;
    if v_receipt.outcome <> 'ok' then
        return v_brief;
    end if;
    perform ledger.require_committed('the lease was granted', v_campaign.lease_xid);
    v_class := ledger.known_class(p_class);

    v_brief.attempt_no           := v_campaign.attempt_count;
    v_brief.attempt_limit        := v_class.attempt_limit;
    v_brief.target               := v_campaign.target;
    v_brief.desired_state        := v_campaign.desired_state;
    v_brief.acceptance           := v_campaign.acceptance;
    v_brief.attempts             := ledger.earlier_attempts(p_class, p_campaign_id);
    v_brief.refused_fingerprints := ledger.refused_fingerprints(p_class, p_campaign_id);
    v_brief.previous_campaign_id := v_campaign.previous_campaign_id;
    v_brief.operations           := ledger.unknown_operations(p_class, p_campaign_id);

    select t.location into v_brief.location
    from ledger.target as t
    where t.class = p_class and t.target = v_campaign.target;

    select jsonb_build_object(
        'number', o.observation_no,
        'is_green', o.is_green,
        'summary', o.summary,
        'evidence_uri', o.evidence_uri,
        'evidence_sha256', encode(o.evidence_sha256, 'hex'),
        'reported_at', o.reported_at
    ) into v_brief.observation
    from ledger.observation as o
    where o.class = p_class
      and o.target = v_campaign.target
      and o.observation_no = v_campaign.opening_observation_no;

    return v_brief;
end
$fn$;

comment on function kernel.brief(text, bigint, bigint, uuid) is
$doc$Tells the holder of a lease what the campaign is about: where, what should be, what was seen,
what must pass, every earlier attempt with its reason, and the external operations of which nobody
knows yet whether they took effect.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token                                the token of the claim

Answers
    ok, forbidden, stale, not_holder, illegal

Errors
    KN101, KN102, KN108, KN111, KN112, KN113 not_yet_committed$doc$;

grant execute on function kernel.brief(text, bigint, bigint, uuid) to fencepost_worker;

commit;
