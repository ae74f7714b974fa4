-- Revert fencepost:policy/log_config from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.log_config(text, text, text, jsonb, jsonb, bytea);

commit;
