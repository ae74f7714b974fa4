-- Revert fencepost:verification/bundle_table from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop type kernel.bundle;
drop table ledger.bundle;

commit;
