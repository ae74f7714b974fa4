-- Revert fencepost:log/kept_with_campaign from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.is_pruned_now(text, bigint);
drop function ledger.tg__kept_with_campaign();

commit;
