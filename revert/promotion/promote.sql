-- Revert fencepost:promotion/promote from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.promote(text, bigint, bigint, uuid);

commit;
