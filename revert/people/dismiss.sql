-- Revert fencepost:people/dismiss from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.dismiss(text, text, text);

commit;
