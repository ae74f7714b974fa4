-- Deploy fencepost:policy/target to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.target (
    class          text        not null,
    target         text        not null,
    location       jsonb       not null,
    desired_state  jsonb       not null,
    acceptance     jsonb       not null,
    observe_every  interval,
    observe_at     time,
    time_zone      text,
    observe_within interval    not null,
    settle         interval    not null,
    observation_no bigint      not null default 0,
    next_slot_at   timestamptz not null,
    slot_begun_at  timestamptz,
    quiet_until    timestamptz,
    retired_at     timestamptz,

    constraint target_pk primary key (class, target),
    constraint target_class_fk foreign key (class) references ledger.class (class),
    constraint target_name_is_bounded check (octet_length(target) between 1 and 200),
    constraint target_is_observed_within_bounds check (
        observe_every between interval '1 second' and interval '31 days'
    ),
    constraint target_has_one_schedule check (
        num_nonnulls(observe_every, observe_at) = 1
        and (observe_at is null) = (time_zone is null)
    )
);

-- When the next slot is due that nobody has begun; and those that somebody has.
create index target_slot_ix
    on ledger.target (class, next_slot_at)
    where retired_at is null and slot_begun_at is null;
create index target_begun_ix
    on ledger.target (class)
    where retired_at is null and slot_begun_at is not null;

comment on table ledger.target is
    'A watched thing of a class, and the schedule of its observation.';
comment on column ledger.target.location is
    'Where it is; for Git {"repository": path or URL, "ref": "refs/heads/…"}.';
comment on column ledger.target.acceptance is
    'What must pass: {"command": [argv…], "time_limit_s": n, "protected": [path…]}.';
comment on column ledger.target.observe_every is
    'The distance of the scheduled slots; null where they are at a time of day.';
comment on column ledger.target.observe_at is
    'The time of day of the scheduled slots, one a day, in time_zone.';
comment on column ledger.target.time_zone is 'An IANA name, "Europe/Berlin".';
comment on column ledger.target.retired_at is
    'When it was retired: it is not observed any more; null while it is in use.';
comment on column ledger.target.observe_within is
    'A slot begun and not reported within this is offered again.';
comment on column ledger.target.settle is
    'How long after the move to verified an observation must begin to count.';
comment on column ledger.target.observation_no is 'The number of the newest observation.';
comment on column ledger.target.next_slot_at is 'When the next scheduled observation is due.';
comment on column ledger.target.slot_begun_at is
    'When somebody began the slot that is due; null while nobody has.';
comment on column ledger.target.quiet_until is 'Until then a red observation opens nothing.';

create trigger target_10_not_by_hand
    after insert or update or delete on ledger.target
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger target_20_no_truncate
    before truncate on ledger.target
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.target enable always trigger target_10_not_by_hand;
alter table ledger.target enable always trigger target_20_no_truncate;

commit;
