-- Deploy fencepost:operation/release_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.release_operation(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_reason          text default null
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
    v_operation ledger.operation;
    v_now       timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_operation(p_class, p_operation_key);
    perform ledger.require('p_operation_token', p_operation_token is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.does_operations(p_class) then
        return ledger.as_operation(ledger.forbid('release_operation', p_class));
    end if;
    perform ledger.known_class(p_class);

    v_token     := ledger.token_digest(p_operation_token);
    v_content   := ledger.digest(jsonb_build_array('release', p_reason));
    v_operation := ledger.lock_operation(p_class, p_operation_key, v_token, '{pending}');
    if v_operation.class is null then
        v_operation := ledger.operation_of(p_class, p_operation_key);
        if ledger.is_repeated_operation(p_class, p_operation_key, v_token, v_content) then
            return ledger.done_with(v_operation, false, true);
        end if;
        return ledger.refuse_operation('release_operation', p_class, p_operation_key, v_token);
    end if;
    if v_operation.started_at is not null then
        return ledger.as_operation(ledger.refuse(
            'release_operation', 'illegal', p_class,
            'it was started: complete it, fail it or mark it unknown',
            v_operation.campaign_id, v_operation.generation
        ));
    end if;

    v_now := ledger.clock();
    update ledger.operation as o
    set state               = 'released',
        revision            = o.revision + 1,
        lease_expires_at    = null,
        reason              = p_reason,
        updated_at          = v_now,
        last_event          = 'release',
        last_content_sha256 = v_content
    where o.class = p_class and o.operation_key = p_operation_key
    returning o.* into v_operation;
    return ledger.done_with(v_operation, true);
end
$fn$;

comment on function kernel.release_operation(text, text, uuid, text) is
$doc$Gives an operation back that was not started: nothing has been done, its key is free again.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with
    p_reason           why, up to 4096 bytes; or null

Answers
    ok (duplicate: released before with this reason), forbidden, stale, not_holder, illegal (it was
    started, or is unknown)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.release_operation(text, text, uuid, text)
    to fencepost_worker, fencepost_verifier;

commit;
