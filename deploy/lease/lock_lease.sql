-- Deploy fencepost:lease/lock_lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.lock_lease(
    p_class        text,
    p_campaign_id  bigint,
    p_generation   bigint,
    p_token_sha256 bytea,
    p_states       text[]
)
    returns ledger.campaign
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_oid      constant oid := ledger.session_oid();
    v_campaign ledger.campaign;
begin
    -- Who holds it stands in the WHERE of the statements that lock: a call that is refused keeps
    -- nobody else's row locked. The seat, where there is one, comes before the campaign.
    perform
    from ledger.seat as s
    where s.class = p_class
      and s.campaign_id = p_campaign_id
      and exists (
          select
          from ledger.campaign as c
          where c.class = p_class
            and c.campaign_id = p_campaign_id
            and c.state = any (p_states)
            and c.lease_principal = session_user
            and c.lease_principal_oid = v_oid
            and c.lease_token_sha256 = p_token_sha256
            and c.generation = p_generation
      )
    for no key update;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.state = any (p_states)
      and c.lease_principal = session_user
      and c.lease_principal_oid = v_oid
      and c.lease_token_sha256 = p_token_sha256
      and c.generation = p_generation
    for no key update;
    return v_campaign;
end
$fn$;

comment on function ledger.lock_lease(text, bigint, bigint, bytea, text[]) is
$doc$Locks the campaign that the session's principal holds under this generation and token.

Parameters
    p_class, p_campaign_id, p_generation, p_token_sha256   as the caller named them
    p_states   the states in which the call is made

Returns the row, or a row of nulls where it is not so held; nothing is locked then.
An expired lease is held until somebody takes it.$doc$;

commit;
