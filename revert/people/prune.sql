-- Revert fencepost:people/prune from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.prune(text, integer);

commit;
