-- Deploy fencepost:operation/renew_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.renew_operation(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_lease_for       interval default null
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
    v_class      ledger.class;
    v_token      bytea;
    v_operation  ledger.operation;
    v_now        timestamptz;
    v_cap_at     timestamptz;
    v_expires_at timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_operation(p_class, p_operation_key);
    perform ledger.require('p_operation_token', p_operation_token is not null);
    if not ledger.does_operations(p_class) then
        return ledger.as_operation(ledger.forbid('renew_operation', p_class));
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    v_token     := ledger.token_digest(p_operation_token);
    v_operation := ledger.lock_operation(p_class, p_operation_key, v_token, '{pending}');
    if v_operation.class is null then
        return ledger.refuse_operation('renew_operation', p_class, p_operation_key, v_token);
    end if;
    if v_operation.campaign_id is not null then
        return ledger.as_operation(ledger.refuse(
            'renew_operation', 'illegal', p_class,
            'it lives as long as its campaign''s lease: renew that',
            v_operation.campaign_id, v_operation.generation
        ));
    end if;

    v_now        := ledger.clock();
    v_cap_at     := v_operation.begun_at + v_class.lease_cap;
    v_expires_at := least(v_now + ledger.lease_length(v_class, p_lease_for), v_cap_at);
    if v_expires_at > v_operation.lease_expires_at then
        update ledger.operation as o
        set lease_expires_at = v_expires_at
        where o.class = p_class and o.operation_key = p_operation_key
        returning o.* into v_operation;
    end if;
    return ledger.done_with(
        v_operation, false,
        p_note => case when v_operation.lease_expires_at >= v_cap_at then 'lease_cap' end
    );
end
$fn$;

comment on function kernel.renew_operation(text, text, uuid, interval) is
$doc$Moves the end of an operation's lease to p_lease_for from now; never to an earlier time or past
lease_cap.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with
    p_lease_for        from lease_min to lease_max; null means lease_default

A lease that has run out may be renewed while nobody has taken the operation.

Answers
    ok (note lease_cap: it is as long as it may ever be), forbidden, stale, not_holder, illegal
    (unknown, or a campaign's)

Errors
    KN101, KN102, KN103, KN104 (p_lease_for), KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation (the end of the lease; no event)$doc$;

grant execute on function kernel.renew_operation(text, text, uuid, interval)
    to fencepost_worker, fencepost_verifier;

commit;
