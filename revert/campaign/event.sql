-- Revert fencepost:campaign/event from pg

begin;
set local role fencepost_owner;

drop table ledger.campaign_event;

commit;
