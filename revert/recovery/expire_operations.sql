-- Revert fencepost:recovery/expire_operations from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.expire_operations(text, integer);

commit;
