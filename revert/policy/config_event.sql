-- Revert fencepost:policy/config_event from pg

begin;
set local role fencepost_owner;

drop table ledger.config_event;
drop function ledger.tg__append_only();

commit;
