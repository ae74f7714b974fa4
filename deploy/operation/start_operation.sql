-- Deploy fencepost:operation/start_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.start_operation(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid
)
    returns kernel.operation
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
    v_token     bytea;
    v_content   bytea;
    v_class     ledger.class;
    v_operation ledger.operation;
    v_campaign  ledger.campaign;
    v_outcome   text;
    v_message   text;
    v_now       timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_operation(p_class, p_operation_key);
    perform ledger.require('p_operation_token', p_operation_token is not null);
    if not ledger.does_operations(p_class) then
        return ledger.as_operation(ledger.forbid('start_operation', p_class));
    end if;

    v_class     := ledger.known_class(p_class);
    v_token     := ledger.token_digest(p_operation_token);
    v_operation := ledger.operation_of(p_class, p_operation_key);
    v_content   := ledger.digest(jsonb_build_array('start', v_operation.incarnation));
    if ledger.is_repeated_operation(p_class, p_operation_key, v_token, v_content) then
        return ledger.done_with(v_operation, false, true);
    end if;

    if v_operation.token_sha256 = v_token then
        perform ledger.require_committed('the operation was begun', v_operation.begun_xid);
    end if;

    -- Its campaign is locked before it, and the target before that.
    if v_operation.campaign_id is not null and v_operation.token_sha256 = v_token then
        if v_operation.kind = 'promote' then
            perform
            from ledger.target as t
            where t.class = p_class
              and t.target = (
                  select c.target
                  from ledger.campaign as c
                  where c.class = p_class
                    and c.campaign_id = v_operation.campaign_id
                    and c.generation = v_operation.generation
                    and c.lease_principal = session_user
              )
            for no key update;
        end if;
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = v_operation.campaign_id
          and c.generation = v_operation.generation
          and c.state in ('leased', 'verifying', 'promoting')
          and c.lease_principal = session_user
          and c.lease_principal_oid = v_operation.principal_oid
        for no key update;
    end if;
    v_operation := ledger.lock_operation(p_class, p_operation_key, v_token, '{pending}');
    if v_operation.class is null then
        return ledger.refuse_operation('start_operation', p_class, p_operation_key, v_token);
    end if;

    -- It may have been paused while this call waited for the locks.
    v_class := ledger.known_class(p_class);
    v_now   := ledger.clock();
    if v_operation.campaign_id is not null and v_campaign.campaign_id is null then
        v_outcome := 'stale';
        v_message := 'the lease under which it was begun has ended';
    elsif coalesce(v_campaign.lease_expires_at, v_operation.lease_expires_at) <= v_now then
        v_outcome := 'expired';
        v_message := 'the lease has run out';
    elsif v_class.is_paused then
        v_outcome := 'paused';
        v_message := 'the class is paused: nothing is started';
    elsif v_operation.kind = 'promote' and exists (
        select
        from ledger.operation as o
        where o.class = p_class
          and o.kind = 'promote'
          and o.target = v_operation.target
          and o.operation_key <> p_operation_key
          and (o.state = 'unknown' or (o.state = 'pending' and o.started_at is not null))
    ) then
        v_outcome := 'operation_open';
        v_message := 'another promotion to this target is started or unknown';
    end if;
    if v_outcome is not null then
        return ledger.as_operation(ledger.refuse(
            'start_operation', v_outcome, p_class, v_message, v_operation.campaign_id,
            v_operation.generation, v_campaign.generation, v_campaign.state
        ));
    end if;

    begin
        update ledger.operation as o
        set started_at          = v_now,
            revision            = o.revision + 1,
            updated_at          = v_now,
            last_event          = 'start',
            last_content_sha256 = v_content
        where o.class = p_class and o.operation_key = p_operation_key
        returning o.* into v_operation;
    exception
        -- Two targets may name one place: their promotions meet here.
        when unique_violation then
            return ledger.as_operation(ledger.refuse(
                'start_operation', 'operation_open', p_class,
                'another promotion to this target is started or unknown', v_operation.campaign_id,
                v_operation.generation, v_campaign.generation, v_campaign.state
            ));
    end;
    return ledger.done_with(v_operation, false);
end
$fn$;

comment on function kernel.start_operation(text, text, uuid) is
$doc$Records that an operation's effect is about to be attempted: from here on it may have happened.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with

Call it in a transaction of its own, after the one that began it, and commit it before the effect.
Once started, an operation whose owner disappears becomes unknown; it is never done again blindly.

Answers
    ok (duplicate: started before), forbidden, stale, not_holder, illegal, expired (the campaign's
    lease, or its own, has run out), paused, operation_open (another promotion to this target)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN113 not_yet_committed, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.start_operation(text, text, uuid)
    to fencepost_worker, fencepost_verifier;

commit;
