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
alter table ledger.checkpoint enable always trigger checkpoint_10_append_only;
alter table ledger.checkpoint enable always trigger checkpoint_20_no_truncate;

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

create or replace function ledger.log_digest(
    p_class      text,
    p_from_epoch integer,
    p_from_xid   xid8,
    p_upto_epoch integer,
    p_upto_xid   xid8
)
    returns ledger.checkpoint
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    with logged as (
        select e.epoch, e.xid, e.campaign_id, e.event_no, ledger.event_digest(e) as digest
        from ledger.campaign_event as e
        where e.class = p_class
          and (e.epoch, e.xid) >= (p_from_epoch, p_from_xid)
          and (e.epoch, e.xid) < (p_upto_epoch, p_upto_xid)
        union all
        select k.epoch, k.xid, t.campaign_id, k.event_no, k.digest
        from ledger.tombstone as t
        cross join lateral unnest(t.event_epochs, t.event_xids, t.event_digests)
            with ordinality as k (epoch, xid, digest, event_no)
        where t.class = p_class
          and (k.epoch, k.xid) >= (p_from_epoch, p_from_xid)
          and (k.epoch, k.xid) < (p_upto_epoch, p_upto_xid)
    )
    select row(
        p_class, null, null, null, 1, p_upto_epoch, p_upto_xid, count(*),
        pg_catalog.sha256(coalesce(
            string_agg(l.digest, '' order by l.epoch, l.xid, l.campaign_id, l.event_no), ''
        )),
        null, null
    )::ledger.checkpoint
    from logged as l;
$fn$;

comment on function ledger.log_digest(text, integer, xid8, integer, xid8) is
$doc$Counts and digests the events of a class from one place of its log to another.

Parameters
    p_class                   the class
    p_from_epoch, p_from_xid  the first transaction that is covered
    p_upto_epoch, p_upto_xid  the first one that is not any more

Returns what a checkpoint made there says of the events: its bounds, their number and their digest;
the rest is null. Pruned events count with the digests in their tombstones.$doc$;

create or replace function ledger.checkpoint_digest(p_checkpoint ledger.checkpoint)
    returns bytea
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.list_digest(array[
        p_checkpoint.version::text, p_checkpoint.class, p_checkpoint.checkpoint_no::text,
        ledger.time_text(p_checkpoint.made_at), p_checkpoint.made_by::text,
        p_checkpoint.upto_epoch::text, p_checkpoint.upto_xid::text,
        p_checkpoint.event_count::text, encode(p_checkpoint.events_sha256, 'hex'),
        encode(p_checkpoint.previous_sha256, 'hex')
    ]);
$fn$;

comment on function ledger.checkpoint_digest(ledger.checkpoint) is
$doc$The SHA-256 (32 bytes) of a checkpoint: version 1 of the list of its columns, its own digest
aside. The digest before is among them: so each holds all that came before it.$doc$;

commit;
