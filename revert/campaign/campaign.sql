-- Revert fencepost:campaign/campaign from pg

begin;
set local role fencepost_owner;

drop table ledger.campaign;

commit;
