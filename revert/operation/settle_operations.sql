-- Revert fencepost:operation/settle_operations from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.unknown_operations(text, bigint);
drop function ledger.doubt_operations(text, timestamptz);
drop function ledger.dismiss_operations(text, text, text, timestamptz);
drop function ledger.settle_operations(ledger.campaign, text, timestamptz);
drop function ledger.open_operation_bars(ledger.campaign, text);

commit;
