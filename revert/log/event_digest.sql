-- Revert fencepost:log/event_digest from pg

begin;
set local role fencepost_owner;

drop function ledger.chain(bytea[]);
drop function ledger.event_digest(ledger.campaign_event);

commit;
