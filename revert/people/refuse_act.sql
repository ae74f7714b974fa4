-- Revert fencepost:people/refuse_act from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.refuse_act(text, text, bigint, bigint, bytea);

commit;
