-- Revert fencepost:lease/as_lease from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.as_lease(kernel.receipt, ledger.campaign, ledger.class);

commit;
