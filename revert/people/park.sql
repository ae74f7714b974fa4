-- Revert fencepost:people/park from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.park(text, bigint, bigint, text);

commit;
