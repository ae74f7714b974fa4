-- Verify fencepost:foundation/append_only on pg

begin;

\set function ledger.tg__append_only
\ir ../_support/assert_trigger_function.psql

rollback;
