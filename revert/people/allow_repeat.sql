-- Revert fencepost:people/allow_repeat from pg

begin;
set local role fencepost_owner;

drop function kernel.allow_repeat(text, bigint, bigint, text, text);

commit;
