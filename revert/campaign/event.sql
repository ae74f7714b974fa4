-- Revert fencepost:campaign/event from pg

begin;
set local role fencepost_owner;

drop table ledger.campaign_event;
drop function ledger.tg_campaign_event__guard();

commit;
