-- Revert fencepost:promotion/claim_promotion from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.claim_promotion(text, uuid, text, interval);
drop function ledger.is_place_taken(ledger.campaign);

commit;
