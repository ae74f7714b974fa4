-- Revert fencepost:observation/begin_observation from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.begin_observation(text, text, uuid);

commit;
