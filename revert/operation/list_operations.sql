-- Revert fencepost:operation/list_operations from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.list_operations(text, text, text, timestamptz, integer);

commit;
