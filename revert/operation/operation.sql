-- Revert fencepost:operation/operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop type kernel.operation;
drop table ledger.operation;

commit;
