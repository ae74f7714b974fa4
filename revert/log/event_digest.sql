-- Revert fencepost:log/event_digest from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.tombstone_digest(ledger.tombstone);
drop function ledger.opening_digest(ledger.campaign);
drop function ledger.event_digest(ledger.campaign_event);
drop function ledger.time_text(timestamptz);
drop function ledger.list_digest(text[]);

commit;
