-- Revert fencepost:attempt/repeated_ending from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.repeated_ending(text, text, bigint, bigint, bytea, bytea);

commit;
