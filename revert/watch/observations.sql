-- Revert fencepost:watch/observations from pg

begin;
set local role fencepost_owner;

drop view audit.observations;

commit;
