-- Deploy fencepost:people/park to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.park(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_reason      text default null
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
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('park', p_class);
    end if;

    v_content := ledger.digest(jsonb_build_array('park', p_reason));
    perform ledger.lock_seat(p_class, p_campaign_id, p_generation);
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.generation = p_generation
      and c.state not in ('parked', 'confirmed', 'cancelled', 'lapsed')
    for no key update;
    if not found then
        return ledger.refuse_act('park', p_class, p_campaign_id, p_generation, v_content);
    end if;

    v_now := ledger.clock();
    if v_campaign.state = 'leased' then
        perform ledger.end_attempt(v_campaign, 'withdrawn', v_now, p_reason);
    end if;
    v_campaign.parked_for := 'admin';
    v_campaign := ledger.move(
        v_campaign, 'park', 'parked', v_now,
        jsonb_build_object('attempt', nullif(v_campaign.attempt_count, 0), 'reason', p_reason,
                           'parked_for', 'admin'),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.park(text, bigint, bigint, text) is
$doc$Sets a campaign aside until a person redrives or cancels it.

Parameters
    p_class, p_campaign_id   the campaign
    p_generation             the generation that the admin saw
    p_reason                 why, up to 4096 bytes; or null

Whoever holds it loses it; an attempt not yet submitted ends as withdrawn, a submitted one stays.

Answers
    ok (duplicate: parked before by this act), forbidden, stale, illegal

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (any open state to parked), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.park(text, bigint, bigint, text) to fencepost_admin;

commit;
