-- Deploy fencepost:log/event_digest to pg
--
-- One change for the family: what the log's digests are made of is read together.

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.list_digest(p_values text[])
    returns bytea
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select pg_catalog.sha256(pg_catalog.convert_to(string_agg(
        coalesce(octet_length(f.value) || ':' || f.value, '-'), ',' order by f.place
    ), 'UTF8'))
    from unnest(p_values) with ordinality as f (value, place);
$fn$;

comment on function ledger.list_digest(text[]) is
$doc$The SHA-256 (32 bytes) of a list: each value with its length before it, "-" for null, so that
no two lists have one text.$doc$;

create or replace function ledger.time_text(p_time timestamptz)
    returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US');
$fn$;

comment on function ledger.time_text(timestamptz) is
$doc$A time as the digests have it: in UTC, to the microsecond, whatever the session sets.$doc$;

create or replace function ledger.event_digest(p_event ledger.campaign_event)
    returns bytea
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.list_digest(array[
        '1', p_event.class, p_event.campaign_id::text, p_event.event_no::text,
        p_event.transition, p_event.from_state, p_event.to_state, p_event.generation::text,
        p_event.by_principal::text, p_event.holder::text, p_event.is_late::text,
        ledger.time_text(p_event.next_attempt_at), ledger.time_text(p_event.at),
        p_event.epoch::text, p_event.xid::text, p_event.detail::text,
        encode(p_event.content_sha256, 'hex')
    ]);
$fn$;

comment on function ledger.event_digest(ledger.campaign_event) is
$doc$The SHA-256 (32 bytes) of an event: version 1 of the list of its columns.$doc$;

create or replace function ledger.opening_digest(p_campaign ledger.campaign)
    returns bytea
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.list_digest(array[
        '1', p_campaign.class, p_campaign.target, p_campaign.opened_by::text,
        p_campaign.opening_observation_no::text, encode(p_campaign.opening_token_sha256, 'hex'),
        p_campaign.previous_campaign_id::text, p_campaign.desired_state::text,
        p_campaign.acceptance::text, p_campaign.promotes::text, p_campaign.separate_family::text,
        p_campaign.needs_evidence::text
    ]);
$fn$;

comment on function ledger.opening_digest(ledger.campaign) is
$doc$The SHA-256 (32 bytes) of what a campaign was opened with and never changes: version 1 of the
list of those columns. The event of the opening keeps it, so that a change of them shows.$doc$;

create or replace function ledger.tombstone_digest(p_tombstone ledger.tombstone)
    returns bytea
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.list_digest(array[
        '1', p_tombstone.class, p_tombstone.campaign_id::text, p_tombstone.target,
        p_tombstone.final_state, p_tombstone.generation::text, p_tombstone.attempt_count::text,
        p_tombstone.event_count::text, ledger.time_text(p_tombstone.opened_at),
        ledger.time_text(p_tombstone.closed_at),
        (select string_agg(ledger.time_text(a.at), ',' order by a.place)
         from unnest(p_tombstone.human_acts_at) with ordinality as a (at, place)),
        array_to_string(p_tombstone.event_epochs, ','),
        array_to_string(p_tombstone.event_xids, ','),
        (select string_agg(encode(d.digest, 'hex'), ',' order by d.place)
         from unnest(p_tombstone.event_digests) with ordinality as d (digest, place)),
        ledger.time_text(p_tombstone.pruned_at), p_tombstone.pruned_by::text,
        p_tombstone.pruned_xid::text
    ]);
$fn$;

comment on function ledger.tombstone_digest(ledger.tombstone) is
$doc$The SHA-256 (32 bytes) of a tombstone: version 1 of the list of its columns, its own digest
aside.$doc$;

commit;
