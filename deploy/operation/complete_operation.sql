-- Deploy fencepost:operation/complete_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.complete_operation(
    p_class           text,
    p_operation_key   text,
    p_operation_token uuid,
    p_result          jsonb default null,
    p_read_back       jsonb default null,
    p_reason          text  default null,
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
    perform ledger.require_size('p_result', p_result);
    perform ledger.require_size('p_read_back', p_read_back);
    perform ledger.require_text('p_reason', p_reason, 4096);
    perform ledger.require_bytes('p_result_text', p_result_text, 65536);

    v_said.state       := 'completed';
    v_said.last_event  := 'complete';
    v_said.result      := p_result;
    v_said.read_back   := p_read_back;
    v_said.reason      := p_reason;
    v_said.result_text := p_result_text;
    return ledger.conclude(
        'complete_operation', p_class, p_operation_key, p_operation_token, v_said
    );
end
$fn$;

comment on function kernel.complete_operation(
    text, text, uuid, jsonb, jsonb, text, text
) is
$doc$Records that an operation's effect has happened, with what was read back from the target.

Parameters
    p_class            the class
    p_operation_key    as begin_operation returned it
    p_operation_token  the token it was begun with
    p_result           up to 65536 bytes, for whoever asks for the same operation again; null where
                       there is none, which is not the JSON null
    p_read_back        what the target showed, up to 65536 bytes; it must contain all of "after" of
                       what was expected
    p_reason           a remark, up to 4096 bytes; or null
    p_result_text      the result byte for byte, up to 65536 bytes, where a replay must be exact

It may be part of a transaction of the caller's own: an effect in this database and its record are
then committed together. A late result is taken while nobody else has taken the operation, also of
one that has become unknown.

Answers
    ok (duplicate: completed before with this content), forbidden, stale, not_holder, illegal (a
    campaign's operation that was never started), no_evidence (the read-back)

Errors
    KN101, KN102, KN103, KN106, KN111, KN112, KN116 unknown_operation

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.complete_operation(text, text, uuid, jsonb, jsonb, text, text)
    to fencepost_worker, fencepost_verifier;

commit;
