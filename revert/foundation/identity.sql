-- Revert fencepost:foundation/identity from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.session_is(text);
drop function ledger.is_member(oid, text);
drop function ledger.session_oid();

commit;
