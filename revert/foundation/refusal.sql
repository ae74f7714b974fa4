-- Revert fencepost:foundation/refusal from pg

begin;
set local role fencepost_owner;

drop table ledger.refusal;

commit;
