-- Revert fencepost:log/check from pg

begin;
set local role fencepost_owner;

drop function kernel.check(text);
drop type kernel.finding;

commit;
