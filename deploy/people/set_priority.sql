-- Deploy fencepost:people/set_priority to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.lock_act(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint
)
    returns ledger.campaign
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_campaign ledger.campaign;
begin
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.generation = p_generation
      and c.state not in ('confirmed', 'cancelled', 'lapsed')
    for no key update;
    return v_campaign;
end
$fn$;

comment on function ledger.lock_act(text, bigint, bigint) is
$doc$Locks an open campaign in the generation that an admin saw; nulls where it is not.$doc$;

create or replace function kernel.set_priority(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_priority    integer
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
    v_content  bytea;
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_priority', p_priority is not null);
    if p_priority not between 0 and 3 then
        raise exception 'a priority of % is out of range', p_priority
            using errcode = 'KN104',
                  detail  = 'Priorities are 0 to 3.',
                  hint    = 'Each step is a head start of the class''s priority_step.';
    end if;
    if not ledger.session_is('admin') then
        return ledger.forbid('set_priority', p_class);
    end if;

    v_content  := ledger.digest(jsonb_build_array('set_priority', p_priority));
    v_campaign := ledger.lock_act(p_class, p_campaign_id, p_generation);
    if v_campaign.campaign_id is null then
        return ledger.refuse_act('set_priority', p_class, p_campaign_id, p_generation, v_content);
    end if;
    if v_campaign.priority = p_priority then
        return ledger.answer_with(v_campaign, false, true);
    end if;

    v_now := ledger.clock();
    v_campaign.priority := p_priority::smallint;
    v_campaign := ledger.move(
        v_campaign, 'set_priority', v_campaign.state, v_now,
        jsonb_build_object('priority', p_priority), v_content
    );
    return ledger.answer_with(v_campaign, false);
end
$fn$;

comment on function kernel.set_priority(text, bigint, bigint, integer) is
$doc$Gives an open campaign a head start over others of its class, or takes it back.

Parameters
    p_class, p_campaign_id   the campaign
    p_generation             the generation that the admin saw
    p_priority               0 to 3: it is taken as if it had been due that many priority_steps
                             earlier; nothing starves

Answers
    ok (duplicate: it had that priority already), forbidden, stale, illegal

Errors
    KN101, KN102, KN104 (p_priority), KN108, KN111, KN112

Writes
    ledger.campaign, ledger.campaign_event$doc$;

grant execute on function kernel.set_priority(text, bigint, bigint, integer) to fencepost_admin;

commit;
