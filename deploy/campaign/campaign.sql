-- Deploy fencepost:campaign/campaign to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.campaign (
    class                   text        not null,
    campaign_id             bigint      not null generated always as identity,
    target                  text        not null,
    state                   text        not null,
    generation              bigint      not null default 0,
    priority                smallint    not null default 0,

    opened_at               timestamptz not null,
    opened_by               name        not null,
    opening_observation_no  bigint,
    opening_token_sha256    bytea,
    previous_campaign_id    bigint,
    desired_state           jsonb       not null,
    acceptance              jsonb       not null,
    promotes                boolean     not null,
    separate_family         boolean     not null,
    needs_evidence          boolean     not null,

    lease_principal         name,
    lease_principal_oid     oid,
    lease_token_sha256      bytea,
    lease_label             text,
    lease_granted_at        timestamptz,
    lease_expires_at        timestamptz,
    lease_xid               xid8,

    attempt_count           integer     not null default 0,
    failure_count           integer     not null default 0,
    loss_count              integer     not null default 0,
    release_count           integer     not null default 0,
    verification_loss_count integer     not null default 0,
    promotion_loss_count    integer     not null default 0,
    abstain_floor           bigint      not null default 0,
    next_attempt_at         timestamptz not null,
    phase_since             timestamptz not null,
    failure_reason          text,
    parked_for              text,
    evidence_uri            text,
    evidence_sha256         bytea,
    closed_at               timestamptz,

    event_count             bigint      not null default 0,
    last_transition         text        not null,
    last_at                 timestamptz not null,
    last_detail             jsonb,
    last_content_sha256     bytea,

    constraint campaign_pk primary key (class, campaign_id),
    constraint campaign_target_fk
        foreign key (class, target) references ledger.target (class, target),
    constraint campaign_previous_fk
        foreign key (class, previous_campaign_id) references ledger.campaign (class, campaign_id),
    constraint campaign_state_is_known check (state in (
        'ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified', 'parked',
        'confirmed', 'cancelled', 'lapsed'
    )),
    constraint campaign_lease_is_whole_while_held check (
        state not in ('leased', 'verifying', 'promoting')
        or num_nulls(lease_principal, lease_principal_oid, lease_token_sha256, lease_granted_at,
                     lease_expires_at, lease_xid) = 0
    ),
    constraint campaign_lease_is_absent_otherwise check (
        state in ('leased', 'verifying', 'promoting')
        or num_nonnulls(lease_principal, lease_principal_oid, lease_token_sha256, lease_label,
                        lease_granted_at, lease_expires_at, lease_xid) = 0
    ),
    constraint campaign_is_closed_while_terminal check (
        (state in ('confirmed', 'cancelled', 'lapsed')) = (closed_at is not null)
    ),
    constraint campaign_priority_is_known check (priority between 0 and 3),
    constraint campaign_says_why_it_is_parked check ((state = 'parked') = (parked_for is not null)),
    constraint campaign_counts_are_counts check (
        least(generation, attempt_count, failure_count, loss_count, release_count,
              verification_loss_count, promotion_loss_count, event_count) >= 0
    )
)
with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- At most one open campaign of a target.
create unique index campaign_open_uq
    on ledger.campaign (class, target)
    where state not in ('confirmed', 'cancelled', 'lapsed');

-- The target's last campaign.
create index campaign_target_ix on ledger.campaign (class, target, campaign_id);

-- Who inherits from a campaign: asked before it is pruned.
create index campaign_previous_ix
    on ledger.campaign (class, previous_campaign_id)
    where previous_campaign_id is not null;

-- What a claim of each waiting state reads, in its order.
create index campaign_ready_ix
    on ledger.campaign (class, priority, next_attempt_at, campaign_id)
    where state = 'ready';
create index campaign_attempted_ix
    on ledger.campaign (class, next_attempt_at, campaign_id)
    where state = 'attempted';
create index campaign_accepted_ix
    on ledger.campaign (class, next_attempt_at, campaign_id)
    where state = 'accepted';

-- What has waited longest for a verdict or a promotion: the reaper parks it.
create index campaign_term_ix
    on ledger.campaign (class, state, phase_since)
    where state in ('attempted', 'accepted');

-- Live leases: by token for a repeated claim, all of a class for the reaper. Not the expiry, so
-- that a renewal stays heap-only.
create unique index campaign_lease_uq
    on ledger.campaign (class, lease_token_sha256)
    where lease_token_sha256 is not null;

create unique index campaign_opening_token_uq
    on ledger.campaign (class, opening_token_sha256)
    where opening_token_sha256 is not null;

comment on table ledger.campaign is
    'The durable objective: it stays open until it is confirmed, cancelled or lapsed.';
comment on column ledger.campaign.generation is
    'The fence. Rises with every lease granted or revoked; a write under an older one is stale.';
comment on column ledger.campaign.priority is
    '0 to 3: each step is a head start of the class''s priority_step, and no more.';
comment on column ledger.campaign.opening_observation_no is
    'The red observation that opened it; null where an admin did.';
comment on column ledger.campaign.previous_campaign_id is
    'The target''s last campaign, where this one opened soon after and inherits from it.';
comment on column ledger.campaign.lease_label is 'What the holder calls itself; for people only.';
comment on column ledger.campaign.lease_xid is
    'The transaction that granted the lease; content is shown only to later ones.';
comment on column ledger.campaign.attempt_count is
    'Attempts of this campaign, and the number of its newest.';
comment on column ledger.campaign.failure_count is
    'Attempts that failed, were rejected or contradicted, those inherited included.';
comment on column ledger.campaign.abstain_floor is
    'Abstentions under this generation and older ones no longer count.';
comment on column ledger.campaign.next_attempt_at is
    'Not claimed before, whichever phase it waits in.';
comment on column ledger.campaign.phase_since is
    'When it was opened, submitted, accepted, verified or redriven, whichever came last.';
comment on column ledger.campaign.parked_for is 'The budget or the term that ran out, or "admin".';
comment on column ledger.campaign.event_count is 'The number of its newest event.';
comment on column ledger.campaign.last_transition is 'The move that made the row what it is.';
comment on column ledger.campaign.last_content_sha256 is
    'The digest of the call that made that move; its event keeps it, to recognise a repeat.';

commit;
