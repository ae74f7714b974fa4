-- Revert fencepost:operation/renew_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.renew_operation(text, text, uuid, interval);

commit;
