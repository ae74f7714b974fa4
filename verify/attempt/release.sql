-- Verify fencepost:attempt/release on pg

begin;

\set function kernel.release
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
    p_reason      text   default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_worker
\ir ../_support/assert_kernel_function.psql

rollback;
