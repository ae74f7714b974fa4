-- Revert fencepost:policy/enrolment from pg

begin;
set local role fencepost_owner;

drop table ledger.enrolment;

commit;
