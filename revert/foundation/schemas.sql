-- Revert fencepost:foundation/schemas from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

alter default privileges for role fencepost_owner grant execute on functions to public;
alter default privileges for role fencepost_owner grant usage on types to public;

drop schema audit;
drop schema kernel;
drop schema ledger;

commit;
