-- Revert fencepost:operation/as_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.done_with(ledger.operation, boolean, boolean, text, text, interval);
drop function ledger.as_operation(kernel.receipt, ledger.operation, text, interval);

commit;
