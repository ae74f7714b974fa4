-- Verify fencepost:attempt/guard on pg

begin;

\set function ledger.tg_attempt__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.attempt
select $list$
    attempt_10_guard before insert or delete or update, each row: tg_attempt__guard
    attempt_20_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
