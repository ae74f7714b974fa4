-- Revert fencepost:lease/claim_many from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.claim_many(text, uuid[], text, interval);

commit;
