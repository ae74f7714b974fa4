-- Revert fencepost:people/retire_class from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.retire_class(text);

commit;
