-- Revert fencepost:policy/deauthorise from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.deauthorise(text, text, text, text);

commit;
