-- Revert fencepost:watch/operation_events from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop view audit.operation_events;

commit;
