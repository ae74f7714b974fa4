-- Verify fencepost:observation/report_observation on pg

begin;

\set function kernel.report_observation
select $list$
    p_class           text
    p_target          text
    p_number          bigint
    p_token           uuid
    p_is_green        boolean
    p_summary         text    default null::text
    p_evidence_uri    text    default null::text
    p_evidence_sha256 bytea   default null::bytea
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_sensor
\ir ../_support/assert_kernel_function.psql

rollback;
