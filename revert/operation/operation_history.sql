-- Revert fencepost:operation/operation_history from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.operation_history(text, text);

commit;
