-- Revert fencepost:promotion/outdate from pg

begin;
set local role fencepost_owner;

drop function kernel.outdate(text, bigint, bigint, uuid, text);

commit;
