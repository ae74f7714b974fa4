-- Revert fencepost:campaign/move from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.move(ledger.campaign, text, text, timestamptz, jsonb, bytea);

commit;
