-- Revert fencepost:campaign/transition from pg

begin;
set local role fencepost_owner;

drop table ledger.transition;

commit;
