-- Revert fencepost:foundation/by_hand from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.tg__not_by_hand();

commit;
