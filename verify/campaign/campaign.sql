-- Verify fencepost:campaign/campaign on pg

begin;

\set relation ledger.campaign
select $list$
    class                   text                     not null
    campaign_id             bigint                   not null generated always as identity
    target                  text                     not null
    state                   text                     not null
    generation              bigint                   not null default 0
    priority                smallint                 not null default 0
    opened_at               timestamp with time zone not null
    opened_by               name                     not null
    opening_observation_no  bigint
    opening_token_sha256    bytea
    previous_campaign_id    bigint
    desired_state           jsonb                    not null
    acceptance              jsonb                    not null
    promotes                boolean                  not null
    separate_family         boolean                  not null
    needs_evidence          boolean                  not null
    lease_principal         name
    lease_principal_oid     oid
    lease_token_sha256      bytea
    lease_label             text
    lease_granted_at        timestamp with time zone
    lease_expires_at        timestamp with time zone
    lease_xid               xid8
    attempt_count           integer                  not null default 0
    failure_count           integer                  not null default 0
    loss_count              integer                  not null default 0
    release_count           integer                  not null default 0
    verification_loss_count integer                  not null default 0
    promotion_loss_count    integer                  not null default 0
    abstain_floor           bigint                   not null default 0
    next_attempt_at         timestamp with time zone not null
    phase_since             timestamp with time zone not null
    failure_reason          text
    parked_for              text
    evidence_uri            text
    evidence_sha256         bytea
    closed_at               timestamp with time zone
    event_count             bigint                   not null default 0
    last_transition         text                     not null
    last_at                 timestamp with time zone not null
    last_detail             jsonb
    last_content_sha256     bytea
$list$ as columns, $list$
    campaign_counts_are_counts
    campaign_is_closed_while_terminal
    campaign_lease_is_absent_otherwise
    campaign_lease_is_whole_while_held
    campaign_pk
    campaign_previous_fk
    campaign_priority_is_known
    campaign_says_why_it_is_parked
    campaign_state_is_known
    campaign_target_fk
$list$ as constraints, $list$
    campaign_accepted_ix (class, next_attempt_at, campaign_id): state = 'accepted'
    campaign_attempted_ix (class, next_attempt_at, campaign_id): state = 'attempted'
    campaign_lease_uq unique (class, lease_token_sha256): lease_token_sha256 is not null
    campaign_open_uq unique (class, target): state <> all ('confirmed', 'cancelled', 'lapsed')
    campaign_opening_token_uq unique (class, opening_token_sha256): opening_token_sha256 is not null
    campaign_previous_ix (class, previous_campaign_id): previous_campaign_id is not null
    campaign_ready_ix (class, priority, next_attempt_at, campaign_id): state = 'ready'
    campaign_target_ix (class, target, campaign_id)
    campaign_term_ix (class, state, phase_since): state = any ('attempted', 'accepted')
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.campaign
\ir ../_support/assert_kept_hot.psql

rollback;
