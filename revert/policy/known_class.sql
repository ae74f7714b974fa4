-- Revert fencepost:policy/known_class from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.hold_class(text);
drop function ledger.known_class(text);

commit;
