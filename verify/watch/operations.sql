-- Verify fencepost:watch/operations on pg

begin;

\set view audit.operations
select $list$
    class            text
    operation_key    text
    incarnation      uuid
    revision         integer
    state            text
    campaign_id      bigint
    attempt_no       integer
    generation       bigint
    duty             text
    kind             text
    target           text
    ordinal          integer
    fingerprint      text
    expected         jsonb
    principal        name
    label            text
    begun_at         timestamp with time zone
    lease_expires_at timestamp with time zone
    started_at       timestamp with time zone
    read_back        jsonb
    result           jsonb
    result_text      text
    diagnostic       jsonb
    reason           text
    inquiry_count    integer
    created_at       timestamp with time zone
    updated_at       timestamp with time zone
    reconciled_by    name
    reconciled_at    timestamp with time zone
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;
