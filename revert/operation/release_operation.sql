-- Revert fencepost:operation/release_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.release_operation(text, text, uuid, text);

commit;
