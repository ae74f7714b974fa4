-- Revert fencepost:people/resume from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.resume(text, text);

commit;
