-- Revert fencepost:lease/grant_lease from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.grant_lease(ledger.campaign, ledger.class, bytea, text, interval, timestamptz);

commit;
