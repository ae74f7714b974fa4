-- Revert fencepost:foundation/enter from pg

begin;
set local role fencepost_owner;

drop function ledger.enter();

commit;
