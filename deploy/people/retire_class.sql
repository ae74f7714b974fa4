-- Deploy fencepost:people/retire_class to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.retire_class(p_class text)
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
    v_class    ledger.class;
    v_after    ledger.class;
    v_campaign ledger.campaign;
    v_now      timestamptz;
    v_receipt  kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    if not ledger.session_is('admin') then
        return ledger.forbid('retire_class', p_class);
    end if;
    perform ledger.known_class(p_class);

    -- for update: an opening reads the class for key share, so none is under way unseen.
    select c.* into v_class from ledger.class as c where c.class = p_class for update;
    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := v_class.retired_at is not null;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;
    if v_receipt.duplicate then
        return v_receipt;
    end if;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class and c.state not in ('confirmed', 'cancelled', 'lapsed')
    limit 1;
    if found then
        return ledger.refuse(
            'retire_class', 'illegal', p_class,
            format('campaign %s of this class is open', v_campaign.campaign_id),
            v_campaign.campaign_id, null, v_campaign.generation, v_campaign.state
        );
    end if;

    perform
    from ledger.operation as o
    where o.class = p_class and o.state in ('pending', 'unknown');
    if found then
        return ledger.refuse(
            'retire_class', 'operation_open', p_class,
            'an external operation of this class is open, or unknown'
        );
    end if;

    v_now := ledger.clock();
    update ledger.class as c
    set retired_at = v_now
    where c.class = p_class
    returning c.* into v_after;
    perform ledger.log_config(
        p_class, 'retire_class', p_class, to_jsonb(v_class), to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.retire_class(text) is
$doc$Takes a class out of use; its history stays. Not while a campaign of it is open, or an external
operation, or while nobody knows of one whether it took effect.

Parameters
    p_class  the class

Answers
    ok (duplicate: it was retired already), forbidden, illegal (a campaign is open, named in the
    receipt), operation_open

Errors
    KN101, KN102, KN106, KN111, KN112

Writes
    ledger.class, ledger.config_event$doc$;

grant execute on function kernel.retire_class(text) to fencepost_admin;

commit;
