-- Verify fencepost:denial/guard on pg

begin;

\set function ledger.is_past_denial
select $list$
    p_at  timestamp with time zone
    p_now timestamp with time zone
$list$ as arguments \gset
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.tg_denial__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.denial
select $list$
    denial_10_guard before insert or delete or update, each row: tg_denial__guard
    denial_20_no_truncate before truncate, each statement: tg__append_only
    denial_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
