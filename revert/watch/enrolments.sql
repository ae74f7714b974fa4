-- Revert fencepost:watch/enrolments from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop view audit.enrolments;

commit;
