-- Revert fencepost:watch/health from pg

begin;
set local role fencepost_owner;

drop function kernel.health();
drop type kernel.health;

commit;
