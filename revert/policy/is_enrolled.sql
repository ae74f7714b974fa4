-- Revert fencepost:policy/is_enrolled from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.forbid(text, text);
drop function ledger.is_enrolled(text, text);

commit;
