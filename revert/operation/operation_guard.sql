-- Revert fencepost:operation/operation_guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger operation_event_20_no_truncate on ledger.operation_event;
drop trigger operation_event_10_guard on ledger.operation_event;
drop trigger operation_30_no_truncate on ledger.operation;
drop trigger operation_20_log on ledger.operation;
drop trigger operation_10_guard on ledger.operation;
drop function ledger.tg_operation_event__guard();
drop function ledger.tg_operation__log();
drop function ledger.tg_operation__guard();

commit;
