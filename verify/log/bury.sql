-- Verify fencepost:log/bury on pg

begin;

\set function ledger.is_human_act
\set arguments 'p_event ledger.campaign_event'
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.tg_tombstone__set
\ir ../_support/assert_trigger_function.psql

\set relation ledger.tombstone
select $list$
    tombstone_10_set before insert, each row: tg_tombstone__set
    tombstone_20_append_only before delete or update, each row: tg__append_only
    tombstone_30_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

\set function ledger.bury
\set arguments 'p_campaign ledger.campaign'
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
