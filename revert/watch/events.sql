-- Revert fencepost:watch/events from pg

begin;
set local role fencepost_owner;

drop view audit.events;

commit;
