-- Revert fencepost:people/cancel from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.cancel(text, bigint, bigint, interval, text);

commit;
