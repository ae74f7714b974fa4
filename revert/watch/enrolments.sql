-- Revert fencepost:watch/enrolments from pg

begin;
set local role fencepost_owner;

drop view audit.enrolments;

commit;
