-- Revert fencepost:recovery/forfeit from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.forfeit(ledger.campaign, timestamptz);

commit;
