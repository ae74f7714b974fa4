-- Revert fencepost:watch/next_due from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.next_due(text);

commit;
