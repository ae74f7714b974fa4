-- Revert fencepost:recovery/reap from pg

begin;
set local role fencepost_owner;

drop function kernel.reap(text, integer);

commit;
