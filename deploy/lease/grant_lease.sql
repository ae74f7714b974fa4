-- Deploy fencepost:lease/grant_lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.grant_lease(
    p_campaign     ledger.campaign,
    p_class        ledger.class,
    p_token_sha256 bytea,
    p_label        text,
    p_lease_for    interval,
    p_at           timestamptz
)
    returns ledger.campaign
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    p_campaign.lease_principal     := session_user;
    p_campaign.lease_principal_oid := ledger.session_oid();
    p_campaign.lease_token_sha256  := p_token_sha256;
    p_campaign.lease_label         := p_label;
    p_campaign.lease_granted_at    := p_at;
    p_campaign.lease_expires_at    := p_at + ledger.lease_length(p_class, p_lease_for);
    p_campaign.lease_xid           := pg_current_xact_id();
    return p_campaign;
end
$fn$;

comment on function ledger.grant_lease(
    ledger.campaign, ledger.class, bytea, text, interval, timestamptz
) is
$doc$The campaign with a lease of the session's principal set in it, for ledger.move to write.$doc$;

commit;
