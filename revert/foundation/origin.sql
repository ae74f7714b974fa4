-- Revert fencepost:foundation/origin from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop table ledger.origin;

commit;
