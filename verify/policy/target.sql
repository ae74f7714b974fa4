-- Verify fencepost:policy/target on pg

begin;

\set relation ledger.target
select $list$
    class          text                     not null
    target         text                     not null
    location       jsonb                    not null
    desired_state  jsonb                    not null
    acceptance     jsonb                    not null
    observe_every  interval
    observe_at     time without time zone
    time_zone      text
    observe_within interval                 not null
    settle         interval                 not null
    observation_no bigint                   not null default 0
    next_slot_at   timestamp with time zone not null
    slot_begun_at  timestamp with time zone
    quiet_until    timestamp with time zone
    retired_at     timestamp with time zone
$list$ as columns, $list$
    target_class_fk
    target_has_one_schedule
    target_is_observed_within_bounds
    target_name_is_bounded
    target_pk
$list$ as constraints, $list$
    target_begun_ix (class): retired_at is null and slot_begun_at is not null
    target_slot_ix (class, next_slot_at): retired_at is null and slot_begun_at is null
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.target
select $list$
    target_10_not_by_hand after any write by hand: tg__not_by_hand
    target_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
