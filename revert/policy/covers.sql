-- Revert fencepost:policy/covers from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.authority_over(text, text, text, text, bigint, integer, text);
drop function ledger.could_cover(text, text, text);
drop function ledger.covers(text, text, bigint, integer, text);

commit;
