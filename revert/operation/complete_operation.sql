-- Revert fencepost:operation/complete_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.complete_operation(text, text, uuid, jsonb, jsonb, text, text);

commit;
