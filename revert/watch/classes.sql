-- Revert fencepost:watch/classes from pg

begin;
set local role fencepost_owner;

drop function kernel.classes();

commit;
