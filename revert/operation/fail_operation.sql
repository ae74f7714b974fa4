-- Revert fencepost:operation/fail_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.fail_operation(text, text, uuid, text, jsonb, text);

commit;
