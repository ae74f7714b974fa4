-- Deploy fencepost:people/open_campaign to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.open_campaign(
    p_class  text,
    p_target text,
    p_token  uuid,
    p_reason text default null
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
    v_token    bytea;
    v_class    ledger.class;
    v_target   ledger.target;
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 200);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('open_campaign', p_class);
    end if;
    perform ledger.known_class(p_class);

    v_token  := ledger.token_digest(p_token);
    v_class  := ledger.hold_class(p_class);
    v_target := ledger.lock_target(p_class, p_target);

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class and c.opening_token_sha256 = v_token;
    if found then
        if v_campaign.target = p_target and v_campaign.opened_by = session_user then
            return ledger.answer_with(v_campaign, false, true);
        end if;
        return ledger.refuse(
            'open_campaign', 'not_holder', p_class, 'this token has opened another campaign'
        );
    end if;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.target = p_target
      and c.state not in ('confirmed', 'cancelled', 'lapsed');
    if found then
        return ledger.refuse(
            'open_campaign', 'illegal', p_class,
            format('campaign %s of this target is open', v_campaign.campaign_id),
            v_campaign.campaign_id, null, v_campaign.generation, v_campaign.state
        );
    end if;

    if v_class.retired_at is not null or v_target.retired_at is not null then
        return ledger.refuse(
            'open_campaign', 'illegal', p_class, 'this target or its class is retired'
        );
    end if;

    v_now := ledger.clock();
    v_campaign := ledger.open(v_target, v_now, p_token_sha256 => v_token, p_reason => p_reason);
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.open_campaign(text, text, uuid, text) is
$doc$Opens a campaign of a target without waiting for an observation.

Parameters
    p_class   the class
    p_target  the target; it has no open campaign
    p_token   made by the caller for this act alone: its repeat is recognised by it
    p_reason  why, up to 4096 bytes; or null

Answers
    ok (duplicate: opened before with this token), forbidden, illegal (one is open, named in the
    receipt), not_holder (the token has opened another)

Errors
    KN101, KN102, KN103, KN106, KN107, KN111, KN112

Writes
    ledger.campaign, ledger.campaign_event$doc$;

grant execute on function kernel.open_campaign(text, text, uuid, text) to fencepost_admin;

commit;
