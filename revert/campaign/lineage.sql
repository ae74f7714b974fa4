-- Revert fencepost:campaign/lineage from pg

begin;
set local role fencepost_owner;

drop function ledger.lineage(text, bigint);

commit;
