-- Revert fencepost:lease/held_lease from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.held_lease(text, ledger.class, bytea, text[], text);

commit;
