-- Verify fencepost:operation/operation_guard on pg

begin;

\set function ledger.tg_operation__guard
\ir ../_support/assert_trigger_function.psql

\set function ledger.tg_operation__log
\ir ../_support/assert_trigger_function.psql

\set function ledger.tg_operation_event__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.operation
select $list$
    operation_10_guard before insert or delete or update, each row: tg_operation__guard
    operation_20_log after insert or update, each row: tg_operation__log
    operation_30_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

\set relation ledger.operation_event
select $list$
    operation_event_10_guard before insert or delete or update, each row: tg_operation_event__guard
    operation_event_20_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
