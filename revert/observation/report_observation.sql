-- Revert fencepost:observation/report_observation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.report_observation(text, text, bigint, uuid, boolean, text, text, bytea);

commit;
