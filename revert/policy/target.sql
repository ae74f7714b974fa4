-- Revert fencepost:policy/target from pg

begin;
set local role fencepost_owner;

drop table ledger.target;

commit;
