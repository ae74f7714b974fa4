-- Revert fencepost:campaign/budget from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.lease_length(ledger.class, interval);
drop function ledger.retry_at(ledger.class, integer, timestamptz);
drop function ledger.spent_budget(ledger.campaign, ledger.class, text);

commit;
