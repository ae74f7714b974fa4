-- Revert fencepost:lease/assignment from pg

begin;
set local role fencepost_owner;

drop type kernel.assignment;

commit;
