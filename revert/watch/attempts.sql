-- Revert fencepost:watch/attempts from pg

begin;
set local role fencepost_owner;

drop view audit.attempts;

commit;
