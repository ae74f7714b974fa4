-- Revert fencepost:foundation/answer from pg

begin;
set local role fencepost_owner;

drop table ledger.answer;

commit;
