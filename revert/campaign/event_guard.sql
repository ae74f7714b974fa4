-- Revert fencepost:campaign/event_guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger campaign_event_20_no_truncate on ledger.campaign_event;
drop trigger campaign_event_10_guard on ledger.campaign_event;
drop function ledger.tg_campaign_event__guard();

commit;
