-- Revert fencepost:promotion/promote from pg

begin;
set local role fencepost_owner;

drop function kernel.promote(text, bigint, bigint, uuid, text, text, text, text);

commit;
