-- Revert fencepost:foundation/refuse from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.refuse(text, text, text, text, bigint, bigint, bigint, text);

commit;
