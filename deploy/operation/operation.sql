-- Deploy fencepost:operation/operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.operation (
    class               text             not null,
    operation_key       text collate "C" not null,
    incarnation         uuid             not null,
    revision            integer          not null,
    state               text             not null,

    campaign_id         bigint,
    attempt_no          integer,
    generation          bigint,
    duty                text             not null,
    kind                text             not null,
    target              text             not null,
    ordinal             integer          not null,
    fingerprint         text             not null,
    expected            jsonb,

    principal           name             not null,
    principal_oid       oid              not null,
    token_sha256        bytea            not null,
    label               text,
    begun_at            timestamptz      not null,
    begun_xid           xid8             not null,
    lease_expires_at    timestamptz,
    started_at          timestamptz,

    read_back           jsonb,
    result              jsonb,
    result_text         text,
    diagnostic          jsonb,
    reason              text,
    inquiry_count       integer          not null default 0,
    created_at          timestamptz      not null,
    updated_at          timestamptz      not null,
    reconciled_by       name,
    reconciled_at       timestamptz,

    event_count         bigint           not null default 0,
    last_event          text             not null,
    last_content_sha256 bytea,

    constraint operation_pk primary key (class, operation_key),
    constraint operation_campaign_fk
        foreign key (class, campaign_id) references ledger.campaign (class, campaign_id),
    constraint operation_state_is_known
        check (state in ('pending', 'completed', 'failed', 'unknown', 'released')),
    constraint operation_key_is_bounded check (octet_length(operation_key) between 1 and 512),
    constraint operation_key_says_whose_it_is
        check ((operation_key like 'fencepost:%') = (campaign_id is not null)),
    constraint operation_is_of_an_attempt_or_of_none
        check (num_nulls(campaign_id, attempt_no, generation) in (0, 3)),
    constraint operation_duty_is_known check (duty in ('worker', 'verifier')),
    constraint operation_counts_are_counts check (
        revision >= 1 and ordinal >= 1 and inquiry_count >= 0 and event_count >= 0
    ),
    constraint operation_has_a_lease_while_pending_without_campaign check (
        (lease_expires_at is not null) = (state = 'pending' and campaign_id is null)
    ),
    constraint operation_says_why_it_is_not_completed
        check (state not in ('failed', 'unknown') or reason is not null),
    constraint operation_reconciliation_is_whole
        check ((reconciled_by is null) = (reconciled_at is null))
)
with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 200);

-- No key to the class: its lock would come after that of the seat. Classes are never deleted, and
-- kernel.begin_operation holds the one of an operation without a campaign.
create index operation_campaign_ix
    on ledger.operation (class, campaign_id)
    where campaign_id is not null;

-- Pages by state and age; what is old enough to prune.
create index operation_state_ix on ledger.operation (class, state, updated_at, operation_key);

-- What is pending past its lease: the reaper asks for it again and again.
create index operation_lease_ix
    on ledger.operation (class, lease_expires_at)
    where state = 'pending' and lease_expires_at is not null;

-- One promotion at a time is under way on a ref, whichever campaign owns it. None is started while
-- another is unknown, either; but a new epoch may find that several were under way.
create unique index operation_promotion_uq
    on ledger.operation (class, target)
    where kind = 'promote' and state = 'pending' and started_at is not null;

comment on table ledger.operation is
    'External effects, each recorded before the act. Not yet known is a state of its own.';
comment on column ledger.operation.operation_key is
    'The caller''s, or derived by the kernel where a campaign''s attempt makes it.';
comment on column ledger.operation.incarnation is
    'New whenever the key is used anew: with the revision it is the fence of a reconciler.';
comment on column ledger.operation.revision is 'Rises by one with every write but a renewal.';
comment on column ledger.operation.generation is 'The lease under which it was begun.';
comment on column ledger.operation.ordinal is
    'Tells apart operations of one attempt on one target, one after the other.';
comment on column ledger.operation.fingerprint is
    'Identifies the request; the same key with another one is a conflict.';
comment on column ledger.operation.expected is
    '"before", the target''s state as read; "after", what it must show; "fence", the fence read.';
comment on column ledger.operation.token_sha256 is 'Of the token that its owner made.';
comment on column ledger.operation.begun_xid is
    'The transaction in which its owner began it; the effect is started in a later one.';
comment on column ledger.operation.lease_expires_at is
    'Without a campaign; one of a campaign lives as long as the lease that began it.';
comment on column ledger.operation.started_at is
    'From here on the effect may have happened; null: it cannot have.';
comment on column ledger.operation.read_back is 'What the target showed afterwards.';
comment on column ledger.operation.result_text is
    'The result byte for byte, where a replay must be exact; jsonb keeps neither order nor space.';
comment on column ledger.operation.inquiry_count is
    'How often it was looked into without an answer.';
comment on column ledger.operation.last_event is 'What made the row what it is.';

create type kernel.operation as (
    outcome          text,
    duplicate        boolean,
    moved            boolean,
    note             text,
    class            text,
    campaign_id      bigint,
    generation       bigint,
    state            text,
    lease_expires_at timestamptz,
    message          text,
    status           text,
    operation_key    text,
    kind             text,
    target           text,
    ordinal          integer,
    attempt_no       integer,
    duty             text,
    fingerprint      text,
    incarnation      uuid,
    revision         integer,
    operation_state  text,
    is_started       boolean,
    expected         jsonb,
    read_back        jsonb,
    result           jsonb,
    result_text      text,
    diagnostic       jsonb,
    reason           text,
    principal        name,
    label            text,
    created_at       timestamptz,
    updated_at       timestamptz,
    reconciled_by    name,
    reconciled_at    timestamptz,
    retry_after      interval
);

comment on type kernel.operation is
    'An external operation as it stands, after a receipt; of a conflict only its key.';
comment on column kernel.operation.moved is 'This call changed the state of the operation.';
comment on column kernel.operation.generation is 'The one under which it was begun.';
comment on column kernel.operation.state is 'Null; that of the operation is operation_state.';
comment on column kernel.operation.lease_expires_at is
    'When somebody else may take it; null where a campaign''s lease decides.';
comment on column kernel.operation.status is
    'What begin_operation found: owner, pending, replay, unknown or conflict.';
comment on column kernel.operation.retry_after is
    'How long to wait before looking again, where it is pending.';

commit;
