-- Revert fencepost:operation/resolve_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.resolve_operation(
    text, text, uuid, integer, text, text, jsonb, jsonb, text, uuid
);

commit;
