-- Revert fencepost:attempt/end_attempt from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.live_attempt(ledger.campaign);
drop function ledger.end_attempt(ledger.campaign, text, timestamptz, text, bytea);

commit;
