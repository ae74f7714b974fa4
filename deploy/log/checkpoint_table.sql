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
    previous_sha256 bytea,
    sha256          bytea       not null,

    constraint checkpoint_pk primary key (class, checkpoint_no),
    constraint checkpoint_digest_is_a_sha256 check (octet_length(sha256) = 32)
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
    p_upto_xid   xid8,
    p_previous   bytea
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
        p_class, null, null, null, 1, p_upto_epoch, p_upto_xid, count(*), p_previous,
        pg_catalog.sha256(
            pg_catalog.convert_to('fencepost checkpoint 1 ' || p_class || ' ', 'UTF8')
            || coalesce(p_previous, '')
            || coalesce(
                string_agg(l.digest, '' order by l.epoch, l.xid, l.campaign_id, l.event_no), ''
            )
        )
    )::ledger.checkpoint
    from logged as l;
$fn$;

comment on function ledger.log_digest(text, integer, xid8, integer, xid8, bytea) is
$doc$Counts and digests the events of a class from one place of its log to another.

Parameters
    p_class                   the class
    p_from_epoch, p_from_xid  the first transaction that is covered
    p_upto_epoch, p_upto_xid  the first one that is not any more
    p_previous                the digest of the checkpoint before; null for the first

Returns what is new in a checkpoint made there: its bounds, count and digests; number, time and
maker are null. Pruned events count with the digests in their tombstones.$doc$;

commit;
