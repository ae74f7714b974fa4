-- Revert fencepost:verification/bundle_table from pg

begin;
set local role fencepost_owner;

drop type kernel.bundle;
drop table ledger.bundle;

commit;
