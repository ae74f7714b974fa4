-- Revert fencepost:lease/lease from pg

begin;
set local role fencepost_owner;

drop type kernel.lease;

commit;
