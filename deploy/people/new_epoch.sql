-- Deploy fencepost:people/new_epoch to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.new_epoch(
    p_class  text,
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
    v_token       bytea;
    v_class       ledger.class;
    v_begun       ledger.config_event;
    v_campaign_id bigint;
    v_campaign    ledger.campaign;
    v_now         timestamptz;
    v_receipt     kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('new_epoch', p_class);
    end if;
    perform ledger.known_class(p_class);

    -- for update: no claim is under way that would be missed below.
    select c.* into v_class from ledger.class as c where c.class = p_class for update;

    v_token := ledger.token_digest(p_token);
    select e.* into v_begun
    from ledger.config_event as e
    where e.class = p_class and e.token_sha256 = v_token;
    if found and v_begun.by_principal <> session_user then
        return ledger.refuse(
            'new_epoch', 'not_holder', p_class, 'this token has begun an epoch of another admin''s'
        );
    end if;
    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := found;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;
    if v_receipt.duplicate then
        v_receipt.note := format('epoch %s', v_begun.after ->> 'epoch');
        return v_receipt;
    end if;

    update ledger.class as c set epoch = v_class.epoch + 1 where c.class = p_class;
    perform ledger.log_config(
        p_class, 'new_epoch', p_class,
        jsonb_build_object('epoch', v_class.epoch),
        jsonb_build_object('epoch', v_class.epoch + 1, 'reason', p_reason),
        v_token
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

    v_receipt.note := format('epoch %s', v_class.epoch + 1);
    return v_receipt;
end
$fn$;

comment on function kernel.new_epoch(text, uuid, text) is
$doc$Begins a new epoch of a class: to be called after a restore to a point in time, or a failover
that lost commits, before anybody works in it again.

Parameters
    p_class   the class
    p_token   made by the caller for this act alone: its repeat is recognised by it
    p_reason  why, up to 4096 bytes; or null

Adds 1,000 to the generation of every open campaign, so that whoever held one in the time that was
lost is told that it is stale; those leases run out and are reaped. External operations that are
open become unknown, also where they were not started: in the time that was lost they may have been.
One that was begun in that time is not known at all. Events from now on sort after all earlier ones,
also where transaction numbers begin anew.

Answers
    ok (note: the epoch; duplicate: begun before with this token), forbidden, not_holder (another
    admin has begun one with it)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112

Writes
    ledger.class, ledger.config_event, ledger.campaign, ledger.campaign_event, ledger.operation,
    ledger.operation_event$doc$;

grant execute on function kernel.new_epoch(text, uuid, text) to fencepost_admin;

commit;
