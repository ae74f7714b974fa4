-- Deploy fencepost:watch/campaigns to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.campaigns with (security_barrier) as
select c.class, c.campaign_id, c.target, c.state, c.generation, c.priority, c.opened_at,
       c.opened_by, c.opening_observation_no as opening_observation, c.previous_campaign_id,
       c.desired_state, c.acceptance, c.promotes, c.separate_family, c.needs_evidence,
       c.lease_principal, c.lease_label, c.lease_granted_at, c.lease_expires_at,
       c.attempt_count, c.failure_count, c.loss_count, c.release_count,
       c.verification_loss_count, c.promotion_loss_count, c.next_attempt_at,
       c.failure_reason, c.parked_for, c.evidence_uri, c.evidence_sha256, c.phase_since,
       c.closed_at, c.event_count
from ledger.campaign as c;

comment on view audit.campaigns is 'Every campaign as it stands, without its holder''s token.';

grant select on audit.campaigns to fencepost_auditor;

commit;
