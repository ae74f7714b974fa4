-- Verify fencepost:foundation/by_hand on pg

begin;

\set function ledger.tg__not_by_hand
\ir ../_support/assert_trigger_function.psql

rollback;
