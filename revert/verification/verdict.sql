-- Revert fencepost:verification/verdict from pg

begin;
set local role fencepost_owner;

drop table ledger.verdict;

commit;
