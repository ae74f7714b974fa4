-- Verify fencepost:verification/judge on pg

begin;

\set function kernel.judge
select $list$
    p_class           text
    p_campaign_id     bigint
    p_generation      bigint
    p_token           uuid
    p_verdict         text
    p_bundle_sha256   bytea   default null::bytea
    p_fingerprint     text    default null::text
    p_command         text    default null::text
    p_exit_code       integer default null::integer
    p_reason          text    default null::text
    p_evidence_uri    text    default null::text
    p_evidence_sha256 bytea   default null::bytea
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_verifier
\ir ../_support/assert_kernel_function.psql

rollback;
