-- Revert fencepost:watch/bundles from pg

begin;
set local role fencepost_owner;

drop view audit.bundles;

commit;
