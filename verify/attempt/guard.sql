-- Verify fencepost:attempt/guard on pg

begin;

\set function ledger.tg_attempt__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.attempt
select $list$
    attempt_10_guard before insert or delete or update, each row: tg_attempt__guard
    attempt_20_no_truncate before truncate, each statement: tg__append_only
    attempt_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
