-- Revert fencepost:campaign/lineage from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.lineage(text, bigint);

commit;
