-- Revert fencepost:attempt/attempt from pg

begin;
set local role fencepost_owner;

drop table ledger.attempt;

commit;
