-- Verify fencepost:log/event_digest on pg

begin;

\set function ledger.event_digest
\set arguments 'p_event ledger.campaign_event'
\set returns bytea
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.chain
\set arguments 'p_digests bytea[]'
\set returns bytea
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
