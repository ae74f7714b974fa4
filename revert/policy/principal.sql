-- Revert fencepost:policy/principal from pg

begin;
set local role fencepost_owner;

drop table ledger.principal;

commit;
