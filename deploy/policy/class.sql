-- Deploy fencepost:policy/class to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.class (
    class                    text     not null,
    lease_default            interval not null,
    lease_min                interval not null,
    lease_max                interval not null,
    lease_cap                interval not null,
    attempt_limit            interval not null,
    attempt_budget           integer  not null,
    loss_budget              integer  not null,
    release_budget           integer  not null,
    verification_loss_budget integer  not null,
    promotion_loss_budget    integer  not null,
    abstain_budget           integer  not null,
    verify_within            interval not null,
    promote_within           interval not null,
    backoff_base             interval not null,
    backoff_cap              interval not null,
    backoff_jitter           numeric  not null,
    reopen_within            interval not null,
    promotes                 boolean  not null,
    separate_family          boolean  not null,
    needs_evidence           boolean  not null,
    seats                    integer,
    verification_limit       integer,
    priority_step            interval not null,
    retention                interval not null,
    refusal_retention        interval not null,
    operation_retention      interval not null,
    unknown_limit            integer  not null,
    epoch                    integer  not null default 0,
    is_paused                boolean  not null default false,
    resumed_at               timestamptz,
    retired_at               timestamptz,

    constraint class_pk primary key (class),
    constraint class_name_is_well_formed check (class ~ '^[a-z][a-z0-9_-]{0,62}$'),
    constraint class_leases_are_ordered check (
        interval '1 second' <= lease_min
        and lease_min <= lease_default and lease_default <= lease_max and lease_max <= lease_cap
    ),
    constraint class_backoff_is_ordered check (
        interval '0' <= backoff_base and backoff_base <= backoff_cap
    ),
    constraint class_jitter_is_a_share check (backoff_jitter between 0 and 1),
    constraint class_budgets_are_positive check (
        least(attempt_budget, loss_budget, verification_loss_budget, promotion_loss_budget,
              abstain_budget, unknown_limit) >= 1
        and release_budget >= 0
    ),
    constraint class_limits_are_positive check (seats >= 1 and verification_limit >= 1),
    constraint class_epoch_is_a_count check (epoch >= 0)
);

comment on table ledger.class is
    'A kind of campaign and its policy. Lengths are spans of real time, stored in seconds.';
comment on column ledger.class.lease_default is
    'The lease of a claim or renewal that names no length.';
comment on column ledger.class.lease_min is 'The shortest lease that may be asked for.';
comment on column ledger.class.lease_max is 'The longest lease that may be asked for.';
comment on column ledger.class.lease_cap is 'How long one lease may last with all its renewals.';
comment on column ledger.class.attempt_limit is
    'How long a worker''s command may run; handed out with the lease.';
comment on column ledger.class.attempt_budget is
    'Unsuccessful attempts (failed, rejected, contradicted) until the campaign parks.';
comment on column ledger.class.loss_budget is
    'Lost and outdated attempts, and releases beyond release_budget, until it parks.';
comment on column ledger.class.release_budget is 'Releases that do not count as losses.';
comment on column ledger.class.verification_loss_budget is 'Lost verifications until it parks.';
comment on column ledger.class.promotion_loss_budget is 'Lost promotions until it parks.';
comment on column ledger.class.abstain_budget is
    'Distinct principals that abstain from one attempt until it parks.';
comment on column ledger.class.verify_within is
    'From submission to a verdict, or it parks; begins anew when the class is resumed.';
comment on column ledger.class.promote_within is
    'From acceptance to a promotion, or it parks; begins anew when the class is resumed.';
comment on column ledger.class.backoff_base is 'The wait after the first unsuccessful attempt.';
comment on column ledger.class.backoff_cap is 'The longest wait, before jitter.';
comment on column ledger.class.backoff_jitter is
    'The share by which a wait is made shorter or longer.';
comment on column ledger.class.reopen_within is
    'A campaign opened this soon after the target''s last one inherits from it.';
comment on column ledger.class.promotes is
    'An accepted result is moved to the target by the verifier.';
comment on column ledger.class.separate_family is
    'Worker and verifier must be of different model families.';
comment on column ledger.class.needs_evidence is 'A submission needs evidence of its own.';
comment on column ledger.class.seats is
    'How many worker leases at once; null for no limit.';
comment on column ledger.class.verification_limit is
    'How many verification and promotion leases at once; null for no limit.';
comment on column ledger.class.priority_step is
    'The head start in time that each step of priority gives.';
comment on column ledger.class.retention is
    'How long a closed campaign and its history are kept, at least.';
comment on column ledger.class.refusal_retention is 'How long a refusal is kept, at least.';
comment on column ledger.class.operation_retention is
    'How long an operation without a campaign is kept after it ended, at least.';
comment on column ledger.class.unknown_limit is
    'How often an unknown operation is looked into without an answer until its campaign parks.';
comment on column ledger.class.is_paused is
    'Claims give no row and nothing is accepted; what is under way is finished and recorded.';
comment on column ledger.class.resumed_at is
    'When it last went on after a pause: no term of its campaigns began before.';
comment on column ledger.class.retired_at is
    'When it was retired: nothing opens in it any more; null while it is in use.';
comment on column ledger.class.epoch is 'Raised after a restore or a failover that lost commits.';

create trigger class_10_not_by_hand
    after insert or update or delete on ledger.class
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger class_20_no_truncate
    before truncate on ledger.class
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.class enable always trigger class_10_not_by_hand;
alter table ledger.class enable always trigger class_20_no_truncate;

commit;
