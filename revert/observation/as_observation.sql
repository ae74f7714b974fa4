-- Revert fencepost:observation/as_observation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.lock_target(text, text);
drop function ledger.as_observation(kernel.receipt, ledger.observation);

commit;
