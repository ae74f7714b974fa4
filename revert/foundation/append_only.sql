-- Revert fencepost:foundation/append_only from pg

begin;
set local role fencepost_owner;

drop function ledger.tg__append_only();

commit;
