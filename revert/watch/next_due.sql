-- Revert fencepost:watch/next_due from pg

begin;
set local role fencepost_owner;

drop function kernel.next_due(text);

commit;
