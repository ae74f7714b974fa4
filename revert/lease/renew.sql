-- Revert fencepost:lease/renew from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.renew(text, bigint, bigint, uuid, interval);

commit;
