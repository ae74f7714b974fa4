-- Verify fencepost:operation/as_operation on pg

begin;

\set function ledger.as_operation
select $list$
    p_receipt     kernel.receipt
    p_operation   ledger.operation default null::ledger.operation
    p_status      text             default null::text
    p_retry_after interval         default null::interval
$list$ as arguments \gset
\set returns kernel.operation
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.done_with
select $list$
    p_operation   ledger.operation
    p_moved       boolean
    p_duplicate   boolean          default false
    p_note        text             default null::text
    p_status      text             default null::text
    p_retry_after interval         default null::interval
$list$ as arguments \gset
\set returns kernel.operation
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
