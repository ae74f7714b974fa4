-- Revert fencepost:recovery/reaper_pass from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop table ledger.reaper_pass;

commit;
