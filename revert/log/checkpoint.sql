-- Revert fencepost:log/checkpoint from pg

begin;
set local role fencepost_owner;

drop function kernel.checkpoint(text);

commit;
