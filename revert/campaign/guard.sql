-- Revert fencepost:campaign/guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger campaign_30_no_truncate on ledger.campaign;
drop trigger campaign_20_log on ledger.campaign;
drop trigger campaign_10_guard on ledger.campaign;
drop function ledger.tg_campaign__log();
drop function ledger.tg_campaign__guard();

commit;
