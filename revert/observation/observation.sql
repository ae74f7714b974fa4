-- Revert fencepost:observation/observation from pg

begin;
set local role fencepost_owner;

drop type kernel.observation;
drop table ledger.observation;

commit;
