-- Deploy fencepost:lease/renew to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.renew(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_token       uuid,
    p_lease_for   interval default null
)
    returns kernel.lease
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
    v_campaign   ledger.campaign;
    v_now        timestamptz;
    v_cap_at     timestamptz;
    v_expires_at timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_token', p_token is not null);
    if not (ledger.is_enrolled(p_class, 'worker') or ledger.is_enrolled(p_class, 'verifier')) then
        return ledger.as_lease(ledger.forbid('renew', p_class));
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    v_token := ledger.token_digest(p_token);
    v_campaign := ledger.lock_lease(
        p_class, p_campaign_id, p_generation, v_token, '{leased,verifying,promoting}'
    );
    if v_campaign.campaign_id is null then
        return ledger.as_lease(
            ledger.refuse_lease('renew', p_class, p_campaign_id, p_generation, v_token)
        );
    end if;

    v_now        := ledger.clock();
    v_cap_at     := v_campaign.lease_granted_at + v_class.lease_cap;
    v_expires_at := least(v_now + ledger.lease_length(v_class, p_lease_for), v_cap_at);
    if v_expires_at > v_campaign.lease_expires_at then
        update ledger.campaign as c
        set lease_expires_at = v_expires_at
        where c.class = p_class and c.campaign_id = p_campaign_id
        returning c.* into v_campaign;
    end if;

    return ledger.as_lease(
        ledger.answer_with(
            v_campaign, false,
            p_note => case when v_campaign.lease_expires_at >= v_cap_at then 'lease_cap' end
        ),
        v_campaign, v_class
    );
end
$fn$;

comment on function kernel.renew(text, bigint, bigint, uuid, interval) is
$doc$Moves the end of a lease to p_lease_for from now; never to an earlier time or past lease_cap.

Parameters
    p_class, p_campaign_id, p_generation   as in the lease
    p_token                                the token of the claim
    p_lease_for                            from lease_min to lease_max; null means lease_default

A lease that has run out may be renewed while nobody has taken the campaign.

Answers
    ok (note lease_cap: it is as long as it may ever be), forbidden, stale, not_holder, illegal

Errors
    KN101, KN102, KN104 (p_lease_for), KN108, KN111, KN112

Writes
    ledger.campaign (the expiry; no event)$doc$;

grant execute on function kernel.renew(text, bigint, bigint, uuid, interval)
    to fencepost_worker, fencepost_verifier;

commit;
