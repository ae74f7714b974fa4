-- Revert fencepost:lease/renew from pg

begin;
set local role fencepost_owner;

drop function kernel.renew(text, bigint, bigint, uuid, interval);

commit;
