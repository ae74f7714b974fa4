-- Revert fencepost:operation/operation_event from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop type kernel.operation_step;
drop table ledger.operation_event;

commit;
