-- Revert fencepost:policy/class from pg

begin;
set local role fencepost_owner;

drop table ledger.class;

commit;
