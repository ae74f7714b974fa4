-- Revert fencepost:lease/refuse_lease from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.refuse_lease(text, text, bigint, bigint, bytea);

commit;
