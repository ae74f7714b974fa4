-- Deploy fencepost:people/retire_target to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.retire_target(p_class text, p_target text)
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
    v_target   ledger.target;
    v_after    ledger.target;
    v_campaign ledger.campaign;
    v_now      timestamptz;
    v_receipt  kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 200);
    if not ledger.session_is('admin') then
        return ledger.forbid('retire_target', p_class);
    end if;
    perform ledger.known_class(p_class);

    v_target := ledger.lock_target(p_class, p_target);
    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := v_target.retired_at is not null;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;
    if v_receipt.duplicate then
        return v_receipt;
    end if;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.target = p_target
      and c.state not in ('confirmed', 'cancelled', 'lapsed');
    if found then
        return ledger.refuse(
            'retire_target', 'illegal', p_class,
            format('campaign %s of this target is open', v_campaign.campaign_id),
            v_campaign.campaign_id, null, v_campaign.generation, v_campaign.state
        );
    end if;

    v_now := ledger.clock();
    update ledger.target as t
    set retired_at = v_now
    where t.class = p_class and t.target = p_target
    returning t.* into v_after;
    perform ledger.log_config(
        p_class, 'retire_target', p_target, to_jsonb(v_target), to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.retire_target(text, text) is
$doc$Takes a target out of use; its history stays. Not while a campaign of it is open.

Parameters
    p_class, p_target  the target

Answers
    ok (duplicate: it was retired already), forbidden, illegal (a campaign is open, named in the
    receipt)

Errors
    KN101, KN102, KN103, KN106, KN107, KN111, KN112

Writes
    ledger.target, ledger.config_event$doc$;

grant execute on function kernel.retire_target(text, text) to fencepost_admin;

commit;
