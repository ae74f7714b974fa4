-- Revert fencepost:recovery/lose from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.lose(ledger.campaign, ledger.class, timestamptz, text, boolean);

commit;
