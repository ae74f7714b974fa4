-- Verify fencepost:attempt/fail on pg

begin;

\set function kernel.fail
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
    p_reason      text
    p_approach    text   default null::text
    p_fingerprint text   default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_worker
\ir ../_support/assert_kernel_function.psql

rollback;
