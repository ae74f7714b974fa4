-- Deploy fencepost:log/event_digest to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.event_digest(p_event ledger.campaign_event)
    returns bytea
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- Version 1: every column in this order, each with its length before it; "-" for null.
    select pg_catalog.sha256(pg_catalog.convert_to(string_agg(
        coalesce(octet_length(f.value) || ':' || f.value, '-'), ',' order by f.place
    ), 'UTF8'))
    from unnest(array[
        '1', p_event.class, p_event.campaign_id::text, p_event.event_no::text,
        p_event.transition, p_event.from_state, p_event.to_state, p_event.generation::text,
        p_event.by_principal::text, p_event.holder::text, p_event.is_late::text,
        to_char(p_event.next_attempt_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        to_char(p_event.at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        p_event.epoch::text, p_event.xid::text, p_event.detail::text,
        encode(p_event.content_sha256, 'hex')
    ]) with ordinality as f (value, place);
$fn$;

comment on function ledger.event_digest(ledger.campaign_event) is
$doc$The SHA-256 (32 bytes) of an event: version 1 of the list of its columns, each with its length,
so that no two events have one text.$doc$;

create or replace function ledger.chain(p_digests bytea[])
    returns bytea
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select pg_catalog.sha256(coalesce(string_agg(d.digest, '' order by d.place), ''))
    from unnest(p_digests) with ordinality as d (digest, place);
$fn$;

comment on function ledger.chain(bytea[]) is
$doc$The SHA-256 (32 bytes) of digests, one after the other.$doc$;

commit;
