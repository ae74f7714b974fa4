-- Verify fencepost:campaign/guard on pg

begin;

\set function ledger.tg_campaign__guard
\ir ../_support/assert_trigger_function.psql

\set function ledger.tg_campaign__log
\ir ../_support/assert_trigger_function.psql

\set relation ledger.campaign
select $list$
    campaign_10_guard before insert or delete or update, each row: tg_campaign__guard
    campaign_20_log after insert or update, each row: tg_campaign__log
    campaign_30_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
