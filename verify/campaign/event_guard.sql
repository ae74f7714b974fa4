-- Verify fencepost:campaign/event_guard on pg

begin;

\set function ledger.tg_campaign_event__guard
\ir ../_support/assert_trigger_function.psql

\set relation ledger.campaign_event
select $list$
    campaign_event_10_guard before insert or delete or update, each row: tg_campaign_event__guard
    campaign_event_20_no_truncate before truncate, each statement: tg__append_only
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
