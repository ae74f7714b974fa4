-- Revert fencepost:observation/guard from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop trigger observation_30_not_by_hand on ledger.observation;
drop trigger observation_20_no_truncate on ledger.observation;
drop trigger observation_10_guard on ledger.observation;
drop function ledger.tg_observation__guard();

commit;
