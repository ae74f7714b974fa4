-- Deploy fencepost:log/log_digest to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

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
