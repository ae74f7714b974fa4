-- Deploy fencepost:people/new_epoch to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.new_epoch(p_class text, p_reason text default null)
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
    v_class       ledger.class;
    v_campaign_id bigint;
    v_campaign    ledger.campaign;
    v_now         timestamptz;
    v_receipt     kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('new_epoch', p_class);
    end if;
    perform ledger.known_class(p_class);

    -- for update: no claim is under way that would be missed below.
    select c.* into v_class from ledger.class as c where c.class = p_class for update;
    update ledger.class as c set epoch = v_class.epoch + 1 where c.class = p_class;
    perform ledger.log_config(
        p_class, 'new_epoch', p_class,
        jsonb_build_object('epoch', v_class.epoch),
        jsonb_build_object('epoch', v_class.epoch + 1, 'reason', p_reason)
    );

    for v_campaign_id in
        select c.campaign_id
        from ledger.campaign as c
        where c.class = p_class and c.state not in ('confirmed', 'cancelled', 'lapsed')
        order by c.campaign_id
    loop
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = v_campaign_id
          and c.state not in ('confirmed', 'cancelled', 'lapsed')
        for no key update;
        continue when not found;
        v_now := ledger.clock();
        perform ledger.move(
            v_campaign, 'new_epoch', v_campaign.state, v_now,
            jsonb_build_object('epoch', v_class.epoch + 1, 'reason', p_reason)
        );
    end loop;

    v_now := ledger.clock();
    perform ledger.doubt_operations(p_class, v_now);

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.note      := format('epoch %s', v_class.epoch + 1);
    v_receipt.class     := p_class;
    return v_receipt;
end
$fn$;

comment on function kernel.new_epoch(text, text) is
$doc$Begins a new epoch of a class: to be called after a restore to a point in time, or a failover
that lost commits, before anybody works in it again.

Parameters
    p_class   the class
    p_reason  why, up to 4096 bytes; or null

Adds 1,000 to the generation of every open campaign, so that whoever held one in the time that was
lost is told that it is stale; those leases run out and are reaped. External operations that are
open become unknown, also where they were not started: in the time that was lost they may have been.
One that was begun in that time is not known at all. Events from now on sort after all earlier ones,
also where transaction numbers begin anew. Called twice it begins two epochs, which harms nothing.

Answers
    ok (note: the epoch), forbidden

Errors
    KN101, KN102, KN103, KN106, KN111, KN112

Writes
    ledger.class, ledger.config_event, ledger.campaign, ledger.campaign_event, ledger.operation,
    ledger.operation_event$doc$;

grant execute on function kernel.new_epoch(text, text) to fencepost_admin;

commit;
