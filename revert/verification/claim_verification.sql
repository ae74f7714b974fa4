-- Revert fencepost:verification/claim_verification from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.claim_verification(text, uuid, text, interval);

commit;
