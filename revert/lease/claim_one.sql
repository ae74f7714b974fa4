-- Revert fencepost:lease/claim_one from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.claim_one(text, ledger.class, bytea, text, interval);

commit;
