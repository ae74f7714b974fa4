-- Verify fencepost:foundation/refusal_guard on pg

begin;

\set function ledger.tg_refusal__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.refusal
select $list$
    refusal_10_guard before delete or update, each row: tg_refusal__guard
    refusal_20_no_truncate before truncate, each statement: tg__append_only
    refusal_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
