-- Deploy fencepost:log/tombstone to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.tombstone (
    class         text          not null,
    campaign_id   bigint        not null,
    target        text          not null,
    final_state   text          not null,
    generation    bigint        not null,
    attempt_count integer       not null,
    event_count   bigint        not null,
    opened_at     timestamptz   not null,
    closed_at     timestamptz   not null,
    human_acts_at timestamptz[] not null,
    event_epochs  integer[]     not null,
    event_xids    xid8[]        not null,
    event_digests bytea[]       not null,
    sha256        bytea         not null,
    pruned_at     timestamptz   not null,
    pruned_by     name          not null,
    pruned_xid    xid8          not null,

    constraint tombstone_pk primary key (class, campaign_id),
    constraint tombstone_keeps_every_event check (
        cardinality(event_epochs) = event_count
        and cardinality(event_xids) = event_count
        and cardinality(event_digests) = event_count
    )
);

comment on table ledger.tombstone is
    'What stays of a campaign that was pruned: its end, and the digest of each of its events.';
comment on column ledger.tombstone.human_acts_at is
    'When admins acted on the campaign, as kernel.exercise_report counts it.';
comment on column ledger.tombstone.event_digests is
    'As ledger.event_digest makes them, in the order of the events; checkpoints still verify.';
comment on column ledger.tombstone.sha256 is 'Of all other columns.';
comment on column ledger.tombstone.pruned_xid is
    'Its transaction: the rows of the campaign may be deleted in this one only.';

commit;
