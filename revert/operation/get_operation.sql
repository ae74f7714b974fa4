-- Revert fencepost:operation/get_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.get_operation(text, text);

commit;
