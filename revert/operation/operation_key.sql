-- Revert fencepost:operation/operation_key from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.operation_key(text, integer, bigint, integer, text, text, integer);
drop function ledger.own_target(text, jsonb);

commit;
