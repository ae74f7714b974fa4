-- Verify fencepost:policy/class on pg

begin;

\set relation ledger.class
select $list$
    class                    text                     not null
    lease_default            interval                 not null
    lease_min                interval                 not null
    lease_max                interval                 not null
    lease_cap                interval                 not null
    attempt_limit            interval                 not null
    attempt_budget           integer                  not null
    loss_budget              integer                  not null
    release_budget           integer                  not null
    verification_loss_budget integer                  not null
    promotion_loss_budget    integer                  not null
    abstain_budget           integer                  not null
    verify_within            interval                 not null
    promote_within           interval                 not null
    backoff_base             interval                 not null
    backoff_cap              interval                 not null
    backoff_jitter           numeric                  not null
    reopen_within            interval                 not null
    promotes                 boolean                  not null
    separate_family          boolean                  not null
    needs_evidence           boolean                  not null
    seats                    integer
    verification_limit       integer
    priority_step            interval                 not null
    retention                interval                 not null
    refusal_retention        interval                 not null
    operation_retention      interval                 not null
    unknown_limit            integer                  not null
    epoch                    integer                  not null default 0
    is_paused                boolean                  not null default false
    resumed_at               timestamp with time zone
    retired_at               timestamp with time zone
$list$ as columns, $list$
    class_backoff_is_ordered
    class_budgets_are_positive
    class_epoch_is_a_count
    class_jitter_is_a_share
    class_leases_are_ordered
    class_limits_are_positive
    class_name_is_well_formed
    class_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.class
select $list$
    class_10_not_by_hand after any write by hand: tg__not_by_hand
    class_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
