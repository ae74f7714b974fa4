-- Verify fencepost:lease/lease on pg

begin;

\set type kernel.lease
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
    attempt_no       integer
    attempt_limit    interval
    lease_cap_at     timestamp with time zone
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;
