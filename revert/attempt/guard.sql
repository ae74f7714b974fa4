-- Revert fencepost:attempt/guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger attempt_30_not_by_hand on ledger.attempt;
drop trigger attempt_20_no_truncate on ledger.attempt;
drop trigger attempt_10_guard on ledger.attempt;
drop function ledger.tg_attempt__guard();

commit;
