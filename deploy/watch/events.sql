-- Deploy fencepost:watch/events to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.events with (security_barrier) as
select e.class, e.campaign_id, e.event_no, e.transition, e.from_state, e.to_state, e.generation,
       e.by_principal, e.holder, e.is_late, e.next_attempt_at, e.at, e.epoch, e.xid, e.detail
from ledger.campaign_event as e;

comment on view audit.events is 'Every move of every campaign, by whom, from what to what, when.';

grant select on audit.events to fencepost_auditor;

commit;
