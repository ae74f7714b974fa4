-- Revert fencepost:people/pause from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.pause(text, text);
drop function ledger.set_paused(text, text, boolean, text);

commit;
