-- Verify fencepost:policy/known_class on pg

begin;

\set function ledger.known_class
\set arguments 'p_class text'
\set returns ledger.class
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.hold_class
\set arguments 'p_class text'
\set returns ledger.class
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
