-- Deploy fencepost:people/refuse_act to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.refuse_act(
    p_function       text,
    p_class          text,
    p_campaign_id    bigint,
    p_generation     bigint,
    p_content_sha256 bytea
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign ledger.campaign := ledger.campaign_of(p_class, p_campaign_id);
begin
    -- An act that moves the campaign raises the generation by one: its repeat names the one before.
    perform
    from ledger.campaign_event as e
    where e.class = p_class
      and e.campaign_id = p_campaign_id
      and e.transition = p_function
      and e.generation = p_generation + (e.from_state <> e.to_state)::integer
      and e.by_principal = session_user
      and e.content_sha256 = p_content_sha256;
    if found then
        return ledger.answer_with(v_campaign, false, true);
    end if;
    if v_campaign.generation <> p_generation then
        return ledger.refuse(
            p_function, 'stale', p_class,
            format('generation %s is not the campaign''s present one, %s',
                   p_generation, v_campaign.generation),
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        );
    end if;
    return ledger.refuse(
        p_function, 'illegal', p_class,
        format('%s is not done in state %s', p_function, v_campaign.state),
        p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
    );
end
$fn$;

comment on function ledger.refuse_act(text, text, bigint, bigint, bytea) is
$doc$The answer to an admin's act that could not lock its campaign in the generation that was seen.

Parameters
    p_function        park, redrive, cancel, set_priority or allow_repeat
    p_class, p_campaign_id, p_generation   as the caller named them
    p_content_sha256  the digest of what it said

ok and duplicate where this very act was done before; stale where the campaign has another
generation; illegal where it is in a state for which there is no such act.

Errors
    KN108 unknown_campaign$doc$;

commit;
