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

create or replace function ledger.is_pruned_now(p_class text, p_campaign_id bigint)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.tombstone as t
        where t.class = p_class
          and t.campaign_id = p_campaign_id
          and t.pruned_xid = pg_current_xact_id_if_assigned()
    );
$fn$;

comment on function ledger.is_pruned_now(text, bigint) is
$doc$Whether this very transaction has set the campaign's tombstone.$doc$;

create or replace function ledger.tg__kept_with_campaign()
    returns trigger
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
begin
    if tg_op = 'DELETE' and ledger.is_pruned_now(old.class, old.campaign_id) then
        return old;
    end if;
    raise exception '% of ledger.% is refused', tg_op, tg_table_name
        using errcode = 'KN902',
              detail  = 'Rows of this table are kept as long as their campaign.',
              hint    = 'Call kernel.prune for campaigns that closed long ago.';
end
$fn$;

comment on function ledger.tg__kept_with_campaign() is
$doc$Refuses every change, and every deletion but that of a campaign which is being pruned.

Errors
    KN902 append_only$doc$;

commit;
