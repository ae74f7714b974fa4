-- Revert fencepost:policy/next_slot from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.next_slot(ledger.target, timestamptz);

commit;
