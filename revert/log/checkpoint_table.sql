-- Revert fencepost:log/checkpoint_table from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop type kernel.checkpoint;
drop table ledger.checkpoint;

commit;
