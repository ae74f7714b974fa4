-- Revert fencepost:people/redrive from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.redrive(text, bigint, bigint, text, text[]);

commit;
