-- Revert fencepost:operation/lock_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.does_operations(text);
drop function ledger.refuse_operation(text, text, text, bytea);
drop function ledger.is_repeated_operation(text, text, bytea, bytea);
drop function ledger.lock_operation(text, text, bytea, text[]);
drop function ledger.operation_of(text, text);
drop function ledger.require_operation(text, text);

commit;
