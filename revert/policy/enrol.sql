-- Revert fencepost:policy/enrol from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.enrol(text, text, text);
drop function ledger.require_duty(text);

commit;
