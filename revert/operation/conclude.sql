-- Revert fencepost:operation/conclude from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.conclude(text, text, text, uuid, ledger.operation);
drop function ledger.shows(ledger.operation, jsonb);

commit;
