-- Deploy fencepost:lease/refuse_lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.refuse_lease(
    p_function     text,
    p_class        text,
    p_campaign_id  bigint,
    p_generation   bigint,
    p_token_sha256 bytea
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign ledger.campaign := ledger.campaign_of(p_class, p_campaign_id);
    v_oid      oid             := ledger.session_oid();
    v_outcome  text;
    v_message  text;
    v_is_mine  boolean;
begin
    if p_generation <> v_campaign.generation then
        v_outcome := 'stale';
        v_message := format('generation %s is not the campaign''s present one, %s',
                            p_generation, v_campaign.generation);
    elsif v_campaign.lease_principal is not null then
        if v_campaign.lease_principal = session_user
            and v_campaign.lease_principal_oid = v_oid
            and v_campaign.lease_token_sha256 = p_token_sha256
        then
            v_outcome := 'illegal';
            v_message := format('%s is not done in state %s', p_function, v_campaign.state);
        else
            v_outcome := 'not_holder';
            v_message := 'another principal or token holds this generation';
        end if;
    else
        -- Nobody holds it now: whose was it?
        select bool_or(h.principal = session_user
                       and h.principal_oid = v_oid
                       and h.token_sha256 = p_token_sha256)
        into v_is_mine
        from (
            select a.principal, a.principal_oid, a.token_sha256
            from ledger.attempt as a
            where a.class = p_class
              and a.campaign_id = p_campaign_id
              and a.generation = p_generation
            union all
            select a.promotion_principal, a.promotion_principal_oid, a.promotion_token_sha256
            from ledger.attempt as a
            where a.class = p_class
              and a.campaign_id = p_campaign_id
              and a.promotion_generation = p_generation
            union all
            select v.principal, v.principal_oid, v.token_sha256
            from ledger.verdict as v
            where v.class = p_class
              and v.campaign_id = p_campaign_id
              and v.generation = p_generation
        ) as h;

        if v_is_mine is null then
            v_outcome := 'illegal';
            v_message := format('%s is not done in state %s', p_function, v_campaign.state);
        elsif v_is_mine then
            v_outcome := 'stale';
            v_message := format('generation %s has already ended in another way', p_generation);
        else
            v_outcome := 'not_holder';
            v_message := 'another principal or token held this generation';
        end if;
    end if;

    return ledger.refuse(
        p_function, v_outcome, p_class, v_message,
        p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
    );
end
$fn$;

comment on function ledger.refuse_lease(text, text, bigint, bigint, bytea) is
$doc$Says why a call under a lease could not lock its campaign, and records the refusal.

Parameters
    p_function      the function called, without its schema
    p_class, p_campaign_id, p_generation, p_token_sha256   as the caller named them

Answers
    stale where the generation is another one, or was the caller's and has ended in another way;
    not_holder where it is or was somebody else's, or this principal's under another token;
    illegal where the lease is the caller's but the state is not one for this move, or where
    nobody ever held this generation

Errors
    KN108 unknown_campaign$doc$;

commit;
