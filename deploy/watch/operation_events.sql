-- Deploy fencepost:watch/operation_events to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.operation_events with (security_barrier) as
select e.class, e.operation_key, e.event_no, e.incarnation, e.revision, e.event, e.from_state,
       e.to_state, e.by_principal, e.owner, e.campaign_id, e.is_late, e.reason, e.diagnostic, e.at,
       e.epoch, e.xid
from ledger.operation_event as e;

comment on view audit.operation_events is 'The history of every external operation.';

grant select on audit.operation_events to fencepost_auditor;

commit;
