-- Revert fencepost:watch/config from pg

begin;
set local role fencepost_owner;

drop view audit.config;

commit;
