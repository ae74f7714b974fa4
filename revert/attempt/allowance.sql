-- Revert fencepost:attempt/allowance from pg

begin;
set local role fencepost_owner;

drop table ledger.allowance;

commit;
