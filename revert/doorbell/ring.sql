-- Revert fencepost:doorbell/ring from pg

begin;
set local role fencepost_owner;

drop function kernel.ring(text);

commit;
