-- Deploy fencepost:lease/held_lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.held_lease(
    p_function     text,
    p_class        ledger.class,
    p_token_sha256 bytea,
    p_states       text[],
    p_transition   text default null
)
    returns setof kernel.lease
    language plpgsql
    volatile
    rows 1
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign ledger.campaign;
begin
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class.class and c.lease_token_sha256 = p_token_sha256;

    if not found then
        return;
    elsif v_campaign.lease_principal = session_user
        and v_campaign.lease_principal_oid = ledger.session_oid()
        and v_campaign.state = any (p_states)
        and coalesce(p_transition, p_function) = (
            -- What granted it: an acceptance goes on to promoting under the verification's lease,
            -- and a new epoch raises the generation of a lease that goes on.
            select e.transition
            from ledger.campaign_event as e
            where e.class = v_campaign.class
              and e.campaign_id = v_campaign.campaign_id
              and e.transition in ('claim', 'claim_verification', 'claim_promotion')
            order by e.event_no desc
            limit 1
        )
    then
        return next ledger.as_lease(
            ledger.answer_with(v_campaign, false, true), v_campaign, p_class
        );
    else
        return next ledger.as_lease(ledger.refuse(
            p_function, 'not_holder', p_class.class,
            'this token is that of another principal''s lease, or of a lease of another kind'
        ));
    end if;
end
$fn$;

comment on function ledger.held_lease(text, ledger.class, bytea, text[], text) is
$doc$The answer to a claim that was made before with the same token; no row where none was.

Parameters
    p_function      the claiming function, without its schema
    p_class         the class
    p_token_sha256  the digest of the token
    p_states        the states in which a lease of this kind is held
    p_transition    the move that grants such a lease; null where it is named like the function

The lease is returned as it stands, also where it has run out and nobody has taken it yet; where it
is another principal's, or of another kind, not_holder.$doc$;

commit;
