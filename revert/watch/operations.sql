-- Revert fencepost:watch/operations from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop view audit.operations;

commit;
