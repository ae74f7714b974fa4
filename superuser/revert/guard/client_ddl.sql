-- Revert fencepost_superuser:guard/client_ddl from pg

begin;
set local search_path = pg_catalog, pg_temp;

-- The linter knows no event triggers.
drop event trigger fencepost_client_ddl;  -- noqa: PRS
drop function fencepost_superuser.tg__refuse_client_ddl();

commit;
