-- Deploy fencepost:operation/as_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.as_operation(
    p_receipt     kernel.receipt,
    p_operation   ledger.operation default null,
    p_status      text             default null,
    p_retry_after interval         default null
)
    returns kernel.operation
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select case
        when p_status = 'conflict' then row(
            p_receipt.outcome, p_receipt.duplicate, p_receipt.moved, p_receipt.note,
            p_receipt.class, null, null, null, null, p_receipt.message,
            p_status, p_operation.operation_key,
            null, null, null, null, null, null, null, null, null, null, null, null, null, null,
            null, null, null, null, null, null, null, null, null
        )::kernel.operation
        else row(
            p_receipt.outcome, p_receipt.duplicate, p_receipt.moved, p_receipt.note,
            p_receipt.class,
            coalesce(p_receipt.campaign_id, p_operation.campaign_id),
            coalesce(p_receipt.generation, p_operation.generation),
            p_receipt.state, p_operation.lease_expires_at, p_receipt.message,
            p_status, p_operation.operation_key, p_operation.kind, p_operation.target,
            p_operation.ordinal, p_operation.attempt_no, p_operation.duty, p_operation.fingerprint,
            p_operation.incarnation, p_operation.revision, p_operation.state,
            case when p_operation.class is not null then p_operation.started_at is not null end,
            p_operation.expected, p_operation.read_back, p_operation.result,
            p_operation.result_text, p_operation.diagnostic, p_operation.reason,
            p_operation.principal, p_operation.label, p_operation.created_at,
            p_operation.updated_at, p_operation.reconciled_by, p_operation.reconciled_at,
            p_retry_after
        )::kernel.operation
    end;
$fn$;

comment on function ledger.as_operation(kernel.receipt, ledger.operation, text, interval) is
$doc$A receipt with the operation as it stands; a refusal has none, and of a conflict only the key
is told.$doc$;

create or replace function ledger.done_with(
    p_operation   ledger.operation,
    p_moved       boolean,
    p_duplicate   boolean  default false,
    p_note        text     default null,
    p_status      text     default null,
    p_retry_after interval default null
)
    returns kernel.operation
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.as_operation(
        row('ok', p_duplicate, p_moved, p_note, p_operation.class, null, null, null, null, null
        )::kernel.receipt,
        p_operation, p_status, p_retry_after
    );
$fn$;

comment on function ledger.done_with(
    ledger.operation, boolean, boolean, text, text, interval
) is
$doc$The answer of a call that was carried out, on the operation as it stands.$doc$;

commit;
