-- Deploy fencepost:operation/mark_operation_unknown to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.mark_operation_unknown(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_reason          text,
    p_diagnostic      jsonb default null
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
    perform ledger.require_size('p_diagnostic', p_diagnostic);

    v_said.state      := 'unknown';
    v_said.last_event := 'mark_unknown';
    v_said.reason     := p_reason;
    v_said.diagnostic := p_diagnostic;
    return ledger.conclude(
        'mark_operation_unknown', p_class, p_operation_key, p_operation_token, v_said
    );
end
$fn$;

comment on function kernel.mark_operation_unknown(text, text, uuid, text, jsonb) is
$doc$Records that nobody knows whether an operation's effect has happened. It stays so until
somebody has looked, whatever time passes.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with
    p_reason           why, up to 4096 bytes
    p_diagnostic       what may help to find out, up to 65536 bytes, kept beside the result

Never refused for the age of a lease.

Answers
    ok (duplicate: marked before with this content), forbidden, stale, not_holder, illegal (it is
    unknown already, or a campaign's that was never started)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.mark_operation_unknown(text, text, uuid, text, jsonb)
    to fencepost_worker, fencepost_verifier;

commit;
