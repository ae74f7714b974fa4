-- Revert fencepost:operation/begin_operation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.begin_operation(
    text, uuid, text, text, text, bigint, bigint, uuid, integer, jsonb, text, text, interval
);
drop function ledger.begun_before(ledger.operation);
drop function ledger.campaign_operation_bar(ledger.campaign, ledger.class, ledger.operation);

commit;
