-- Revert fencepost:people/prune from pg

begin;
set local role fencepost_owner;

drop function kernel.prune(text, integer);

commit;
