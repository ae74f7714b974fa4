-- Revert fencepost:watch/api_version from pg

begin;
set local role fencepost_owner;

drop function kernel.api_version();

commit;
