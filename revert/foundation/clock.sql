-- Revert fencepost:foundation/clock from pg

begin;
set local role fencepost_owner;

drop function ledger.clock();

commit;
