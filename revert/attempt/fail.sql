-- Revert fencepost:attempt/fail from pg

begin;
set local role fencepost_owner;

drop function kernel.fail(text, bigint, bigint, uuid, text, text, text);

commit;
