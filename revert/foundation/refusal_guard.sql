-- Revert fencepost:foundation/refusal_guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger refusal_30_not_by_hand on ledger.refusal;
drop trigger refusal_20_no_truncate on ledger.refusal;
drop trigger refusal_10_guard on ledger.refusal;
drop function ledger.tg_refusal__guard();

commit;
