-- Revert fencepost:operation/mark_operation_unknown from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.mark_operation_unknown(text, text, uuid, text, jsonb);

commit;
