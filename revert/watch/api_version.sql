-- Revert fencepost:watch/api_version from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.api_version();

commit;
