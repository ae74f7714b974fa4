-- Revert fencepost:people/set_priority from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.set_priority(text, bigint, bigint, integer);
drop function ledger.lock_act(text, bigint, bigint);

commit;
