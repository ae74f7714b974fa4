-- Revert fencepost:observation/took_part from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.took_part(text, bigint, integer);

commit;
