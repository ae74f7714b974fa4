-- Revert fencepost:policy/config_event from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop table ledger.config_event;

commit;
