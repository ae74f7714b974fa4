-- Verify fencepost:log/event_digest on pg

begin;

\set function ledger.list_digest
\set arguments 'p_values text[]'
\set returns bytea
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.time_text
\set arguments 'p_time timestamp with time zone'
\set returns text
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.event_digest
\set arguments 'p_event ledger.campaign_event'
\set returns bytea
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.opening_digest
\set arguments 'p_campaign ledger.campaign'
\set returns bytea
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.tombstone_digest
\set arguments 'p_tombstone ledger.tombstone'
\set returns bytea
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
