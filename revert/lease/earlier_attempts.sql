-- Revert fencepost:lease/earlier_attempts from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.refused_fingerprints(text, bigint);
drop function ledger.earlier_attempts(text, bigint);

commit;
