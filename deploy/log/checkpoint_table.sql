-- Deploy fencepost:log/checkpoint_table to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.checkpoint (
    class           text        not null,
    checkpoint_no   bigint      not null,
    made_at         timestamptz not null,
    made_by         name        not null,
    version         integer     not null,
    upto_epoch      integer     not null,
    upto_xid        xid8        not null,
    event_count     bigint      not null,
    events_sha256   bytea       not null,
    previous_sha256 bytea,
    sha256          bytea       not null,

    constraint checkpoint_pk primary key (class, checkpoint_no),
    constraint checkpoint_digests_are_sha256 check (
        octet_length(events_sha256) = 32
        and octet_length(previous_sha256) = 32
        and octet_length(sha256) = 32
    ),
    constraint checkpoint_only_the_first_has_none_before check (
        (checkpoint_no = 1) = (previous_sha256 is null)
    )
);

create trigger checkpoint_10_append_only
    before update or delete on ledger.checkpoint
    for each row execute function ledger.tg__append_only();
create trigger checkpoint_20_no_truncate
    before truncate on ledger.checkpoint
    for each statement execute function ledger.tg__append_only();
create trigger checkpoint_30_not_by_hand
    after insert or update or delete on ledger.checkpoint
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.checkpoint enable always trigger checkpoint_10_append_only;
alter table ledger.checkpoint enable always trigger checkpoint_20_no_truncate;
alter table ledger.checkpoint enable always trigger checkpoint_30_not_by_hand;

comment on table ledger.checkpoint is
    'Digests of the log, each chained to the one before. Kept outside, they show tampering.';
comment on column ledger.checkpoint.upto_xid is
    'It covers the events of earlier epochs, and those of upto_epoch before this transaction.';
comment on column ledger.checkpoint.events_sha256 is 'Of the digests of the events since the last.';
comment on column ledger.checkpoint.sha256 is 'Of all other columns, the digest before among them.';

create type kernel.checkpoint as (
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
    checkpoint_no    bigint,
    event_count      bigint,
    sha256           bytea
);

comment on type kernel.checkpoint is 'What checkpoint answers; keep number and digest outside.';

commit;
