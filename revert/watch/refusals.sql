-- Revert fencepost:watch/refusals from pg

begin;
set local role fencepost_owner;

drop view audit.refusals;

commit;
