-- Revert fencepost:denial/guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger denial_30_not_by_hand on ledger.denial;
drop trigger denial_20_no_truncate on ledger.denial;
drop trigger denial_10_guard on ledger.denial;
drop function ledger.tg_denial__guard();
drop function ledger.is_past_denial(timestamptz, timestamptz);

commit;
