-- Verify fencepost:attempt/submit on pg

begin;

\set function kernel.submit
select $list$
    p_class           text
    p_campaign_id     bigint
    p_generation      bigint
    p_token           uuid
    p_fingerprint     text
    p_approach        text
    p_result          jsonb
    p_evidence_uri    text   default null::text
    p_evidence_sha256 bytea  default null::bytea
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_worker
\ir ../_support/assert_kernel_function.psql

rollback;
