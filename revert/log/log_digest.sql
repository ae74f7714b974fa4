-- Revert fencepost:log/log_digest from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.checkpoint_digest(ledger.checkpoint);
drop function ledger.log_digest(text, integer, xid8, integer, xid8);

commit;
