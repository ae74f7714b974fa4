-- Revert fencepost:log/bury from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.bury(ledger.campaign);
drop trigger tombstone_30_no_truncate on ledger.tombstone;
drop trigger tombstone_20_append_only on ledger.tombstone;
drop trigger tombstone_10_set on ledger.tombstone;
drop function ledger.tg_tombstone__set();
drop function ledger.is_human_act(ledger.campaign_event);

commit;
