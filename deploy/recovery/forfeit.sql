-- Deploy fencepost:recovery/forfeit to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.forfeit(p_campaign ledger.campaign, p_at timestamptz)
    returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select case
        when p_campaign.lease_principal is null then null
        when not exists (
            select
            from ledger.enrolment as e
            where e.class = p_campaign.class
              and e.duty = case when p_campaign.state = 'leased' then 'worker' else 'verifier' end
              and e.principal = p_campaign.lease_principal
              and e.principal_oid = p_campaign.lease_principal_oid
        ) then 'its holder was dismissed'
        when p_campaign.lease_expires_at <= p_at then 'the lease ran out'
    end;
$fn$;

comment on function ledger.forfeit(ledger.campaign, timestamptz) is
$doc$Why the lease of a campaign may be taken back at p_at; null while it may not, or where there
is none.

A claim under way while its principal is dismissed commits a lease that no dismissal saw.$doc$;

commit;
