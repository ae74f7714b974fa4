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
