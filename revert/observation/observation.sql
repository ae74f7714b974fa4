-- Revert fencepost:observation/observation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop type kernel.observation;
drop table ledger.observation;

commit;
