-- Revert fencepost:foundation/receipt from pg

begin;
set local role fencepost_owner;

drop type kernel.receipt;

commit;
