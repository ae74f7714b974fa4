-- Verify fencepost:foundation/enter on pg

begin;

\set function ledger.enter
\set arguments ''
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
