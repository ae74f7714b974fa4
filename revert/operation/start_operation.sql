-- Revert fencepost:operation/start_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.start_operation(text, text, uuid);

commit;
