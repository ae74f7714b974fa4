-- Deploy fencepost:watch/observations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.observations with (security_barrier) as
select o.class, o.target, o.observation_no, o.principal, o.begun_at, o.slot_at,
       o.seen_campaign_id, o.seen_state, o.seen_generation, o.reported_at, o.is_green, o.summary,
       o.evidence_uri, o.evidence_sha256, o.note, o.moved_campaign_id
from ledger.observation as o;

comment on view audit.observations is 'Every observation, what it saw and what came of it.';

grant select on audit.observations to fencepost_auditor;

commit;
