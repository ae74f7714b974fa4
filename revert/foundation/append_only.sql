-- Revert fencepost:foundation/append_only from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.tg__append_only();

commit;
