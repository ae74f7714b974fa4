-- Deploy fencepost:people/cancel to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.cancel(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_quiet_for   interval default '0',
    p_reason      text     default null
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
    v_target   text;
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_quiet_for', p_quiet_for is not null);
    -- Compared in seconds: as intervals '1 year -330 days' is 30 days, and lasts for 35.
    if extract(epoch from p_quiet_for) not between 0 and extract(epoch from interval '31 days') then
        raise exception 'quiet_for is out of range'
            using errcode = 'KN104',
                  detail  = 'It lasts from 0 to 31 days.',
                  hint    = 'Pass a shorter time; 0 for none.';
    end if;
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('cancel', p_class);
    end if;

    v_content := ledger.digest(jsonb_build_array(
        'cancel', extract(epoch from p_quiet_for), p_reason
    ));

    -- The target is locked before its campaign, as everywhere; a target is never another's.
    select c.target into v_target
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.generation = p_generation
      and c.state not in ('confirmed', 'cancelled', 'lapsed');
    if found then
        perform ledger.lock_target(p_class, v_target);
        perform ledger.lock_seat(p_class, p_campaign_id, p_generation);
    end if;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.generation = p_generation
      and c.state not in ('confirmed', 'cancelled', 'lapsed')
    for no key update;
    if not found then
        return ledger.refuse_act('cancel', p_class, p_campaign_id, p_generation, v_content);
    end if;

    v_now := ledger.clock();
    perform ledger.end_attempt(v_campaign, 'withdrawn', v_now, p_reason);
    if p_quiet_for > interval '0' then
        update ledger.target as t
        set quiet_until = greatest(
                t.quiet_until,
                v_now + make_interval(secs => extract(epoch from p_quiet_for)::double precision)
            )
        where t.class = p_class and t.target = v_target;
    end if;
    v_campaign := ledger.move(
        v_campaign, 'cancel', 'cancelled', v_now,
        jsonb_build_object('reason', p_reason, 'quiet_for', p_quiet_for),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.cancel(text, bigint, bigint, interval, text) is
$doc$Closes a campaign for good, whatever state it is in.

Parameters
    p_class, p_campaign_id   the campaign
    p_generation             the generation that the admin saw
    p_quiet_for              how long a red observation opens nothing at this target, 0 to 31 days
    p_reason                 why, up to 4096 bytes; or null

Whoever holds it loses it; its live attempt, submitted or not, ends as withdrawn.

Answers
    ok (duplicate: cancelled before by this act), forbidden, stale, illegal

Errors
    KN101, KN102, KN103, KN104 (p_quiet_for), KN108, KN111, KN112

Writes
    ledger.campaign (any open state to cancelled), ledger.attempt, ledger.target,
    ledger.campaign_event$doc$;

grant execute on function kernel.cancel(text, bigint, bigint, interval, text) to fencepost_admin;

commit;
