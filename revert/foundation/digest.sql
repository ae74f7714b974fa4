-- Revert fencepost:foundation/digest from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.token_digest(uuid);
drop function ledger.digest(jsonb);

commit;
