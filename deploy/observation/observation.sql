-- Deploy fencepost:observation/observation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.observation (
    class             text        not null,
    target            text        not null,
    observation_no    bigint      not null,
    principal         name        not null,
    principal_oid     oid         not null,
    token_sha256      bytea       not null,
    begun_at          timestamptz not null,
    slot_at           timestamptz,
    seen_campaign_id  bigint,
    seen_state        text,
    seen_generation   bigint,
    last_campaign_id  bigint,

    reported_at       timestamptz,
    is_green          boolean,
    summary           text,
    evidence_uri      text,
    evidence_sha256   bytea,
    report_sha256     bytea,
    note              text,
    moved_campaign_id bigint,

    constraint observation_pk primary key (class, target, observation_no),
    constraint observation_target_fk
        foreign key (class, target) references ledger.target (class, target),
    constraint observation_token_uq unique (class, target, token_sha256),
    constraint observation_saw_a_whole_campaign check (
        num_nulls(seen_campaign_id, seen_state, seen_generation) in (0, 3)
    ),
    constraint observation_report_is_whole check (
        num_nulls(reported_at, is_green, report_sha256) in (0, 3)
    )
);

comment on table ledger.observation is
    'What a sensor saw of a target: begun before it looked, reported after.';
comment on column ledger.observation.slot_at is
    'The scheduled slot that it was begun in; null for an unscheduled one.';
comment on column ledger.observation.seen_campaign_id is
    'The campaign that was open when it began, with its state and generation; null for none.';
comment on column ledger.observation.last_campaign_id is
    'The target''s newest campaign when it began, open or closed.';
comment on column ledger.observation.note is 'The move that the report made, or why it made none.';
comment on column ledger.observation.moved_campaign_id is 'The campaign that the report moved.';

create or replace function ledger.tg_observation__guard()
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
    if tg_op = 'DELETE'
        and ledger.session_is('admin')
        and exists (
            select
            from ledger.class as c
            where c.class = old.class
              and coalesce(old.reported_at, old.begun_at) + c.retention <= ledger.clock()
        )
    then
        return old;
    end if;
    if tg_relid <> 'ledger.observation'::regclass
        or tg_op = 'DELETE'
        or old.reported_at is not null
        or row(new.class, new.target, new.observation_no, new.principal, new.principal_oid,
               new.token_sha256, new.begun_at, new.slot_at, new.seen_campaign_id, new.seen_state,
               new.seen_generation, new.last_campaign_id)
            is distinct from
           row(old.class, old.target, old.observation_no, old.principal, old.principal_oid,
               old.token_sha256, old.begun_at, old.slot_at, old.seen_campaign_id, old.seen_state,
               old.seen_generation, old.last_campaign_id)
    then
        raise exception '% of an observation is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'An observation is begun once and reported once.',
                  hint    = 'Begin another observation.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_observation__guard() is
$doc$Lets an observation be reported once and pruned after its time; nothing else of it changes.

Errors
    KN902 append_only$doc$;

create trigger observation_10_guard
    before update or delete on ledger.observation
    for each row execute function ledger.tg_observation__guard();
create trigger observation_20_no_truncate
    before truncate on ledger.observation
    for each statement execute function ledger.tg__append_only();
alter table ledger.observation enable always trigger observation_10_guard;
alter table ledger.observation enable always trigger observation_20_no_truncate;

create type kernel.observation as (
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
    number           bigint,
    is_scheduled     boolean
);

comment on type kernel.observation is 'What begin_observation answers.';
comment on column kernel.observation.number is 'To be passed with the report.';
comment on column kernel.observation.is_scheduled is
    'Begun in a slot that was due; only such a one confirms, contradicts or lapses a campaign.';

commit;
