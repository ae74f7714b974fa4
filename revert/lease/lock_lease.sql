-- Revert fencepost:lease/lock_lease from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.lock_lease(text, bigint, bigint, bytea, text[]);

commit;
