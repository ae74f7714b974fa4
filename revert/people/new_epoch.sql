-- Revert fencepost:people/new_epoch from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.new_epoch(text, uuid, text);

commit;
