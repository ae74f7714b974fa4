-- Verify fencepost:watch/campaigns on pg

begin;

\set view audit.campaigns
select $list$
    class                   text
    campaign_id             bigint
    target                  text
    state                   text
    generation              bigint
    priority                smallint
    opened_at               timestamp with time zone
    opened_by               name
    opening_observation     bigint
    previous_campaign_id    bigint
    desired_state           jsonb
    acceptance              jsonb
    promotes                boolean
    separate_family         boolean
    needs_evidence          boolean
    lease_principal         name
    lease_label             text
    lease_granted_at        timestamp with time zone
    lease_expires_at        timestamp with time zone
    attempt_count           integer
    failure_count           integer
    loss_count              integer
    release_count           integer
    verification_loss_count integer
    promotion_loss_count    integer
    next_attempt_at         timestamp with time zone
    failure_reason          text
    parked_for              text
    evidence_uri            text
    evidence_sha256         bytea
    phase_since             timestamp with time zone
    closed_at               timestamp with time zone
    event_count             bigint
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
