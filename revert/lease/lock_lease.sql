-- Revert fencepost:lease/lock_lease from pg

begin;
set local role fencepost_owner;

drop function ledger.lock_lease(text, bigint, bigint, bytea, text[]);

commit;
