-- Deploy fencepost:operation/fail_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.fail_operation(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_reason          text,
    p_result          jsonb default null,
    p_result_text     text  default null
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
    v_said ledger.operation;
begin
    perform ledger.enter();
    perform ledger.require_operation(p_class, p_operation_key);
    perform ledger.require('p_operation_token', p_operation_token is not null);
    perform ledger.require('p_reason', p_reason is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    perform ledger.require_size('p_result', p_result);
    perform ledger.require_bytes('p_result_text', p_result_text, 65536);

    v_said.state       := 'failed';
    v_said.last_event  := 'fail';
    v_said.reason      := p_reason;
    v_said.result      := p_result;
    v_said.result_text := p_result_text;
    return ledger.conclude(
        'fail_operation', p_class, p_operation_key, p_operation_token, v_said
    );
end
$fn$;

comment on function kernel.fail_operation(text, text, uuid, text, jsonb, text) is
$doc$Records that an operation's effect has not happened, and will not.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with
    p_reason           why, up to 4096 bytes
    p_result           up to 65536 bytes; or null
    p_result_text      the same byte for byte, up to 65536 bytes; or null

Who is not sure calls mark_operation_unknown. One that has become unknown is resolved instead.

Answers
    ok (duplicate: failed before with this content), forbidden, stale, not_holder, illegal (unknown)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.fail_operation(text, text, uuid, text, jsonb, text)
    to fencepost_worker, fencepost_verifier;

commit;
