-- Revert fencepost:lease/brief from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.brief(text, bigint, bigint, uuid);
drop function ledger.require_committed(text, xid8);

commit;
