-- Verify fencepost:operation/operation on pg

begin;

\set relation ledger.operation
select $list$
    class               text                     not null
    operation_key       text collate "C"         not null
    incarnation         uuid                     not null
    revision            integer                  not null
    state               text                     not null
    campaign_id         bigint
    attempt_no          integer
    generation          bigint
    duty                text                     not null
    kind                text                     not null
    target              text                     not null
    ordinal             integer                  not null
    fingerprint         text                     not null
    expected            jsonb
    principal           name                     not null
    principal_oid       oid                      not null
    token_sha256        bytea                    not null
    label               text
    begun_at            timestamp with time zone not null
    begun_xid           xid8                     not null
    lease_expires_at    timestamp with time zone
    started_at          timestamp with time zone
    read_back           jsonb
    result              jsonb
    result_text         text
    diagnostic          jsonb
    reason              text
    inquiry_count       integer                  not null default 0
    created_at          timestamp with time zone not null
    updated_at          timestamp with time zone not null
    reconciled_by       name
    reconciled_at       timestamp with time zone
    event_count         bigint                   not null default 0
    last_event          text                     not null
    last_content_sha256 bytea
$list$ as columns, $list$
    operation_campaign_fk
    operation_counts_are_counts
    operation_duty_is_known
    operation_has_a_lease_while_pending_without_campaign
    operation_is_of_an_attempt_or_of_none
    operation_key_is_bounded
    operation_key_says_whose_it_is
    operation_pk
    operation_reconciliation_is_whole
    operation_says_why_it_is_not_completed
    operation_state_is_known
$list$ as constraints, $list$
    operation_campaign_ix (class, campaign_id): campaign_id is not null
    operation_lease_ix (class, lease_expires_at): state = 'pending' and lease_expires_at is not null
    operation_promotion_uq unique (class, target): $list$
    || $list$kind = 'promote' and state = 'pending' and started_at is not null
    operation_state_ix (class, state, updated_at, operation_key)
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.operation
\ir ../_support/assert_kept_hot.psql

\set type kernel.operation
select $list$
    outcome          text
    duplicate        boolean
    moved            boolean
    note             text
    class            text
    campaign_id      bigint
    generation       bigint
    state            text
    lease_expires_at timestamp with time zone
    message          text
    status           text
    operation_key    text
    kind             text
    target           text
    ordinal          integer
    attempt_no       integer
    duty             text
    fingerprint      text
    incarnation      uuid
    revision         integer
    operation_state  text
    is_started       boolean
    expected         jsonb
    read_back        jsonb
    result           jsonb
    result_text      text
    diagnostic       jsonb
    reason           text
    principal        name
    label            text
    created_at       timestamp with time zone
    updated_at       timestamp with time zone
    reconciled_by    name
    reconciled_at    timestamp with time zone
    retry_after      interval
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;
