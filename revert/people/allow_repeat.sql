-- Revert fencepost:people/allow_repeat from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.allow_repeat(text, bigint, bigint, text, text);

commit;
