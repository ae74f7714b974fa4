-- Revert fencepost:promotion/settle_promotion from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.settle_promotion(ledger.campaign, bytea, timestamptz);
drop function ledger.repeated_promotion(text, text, bigint, bigint, bytea, bytea);

commit;
