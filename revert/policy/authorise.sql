-- Revert fencepost:policy/authorise from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.authorise(text, text, text, text, boolean, integer);
drop function ledger.require_authority(text, text, text, text);
drop function ledger.require_kind(text);

commit;
