-- Verify fencepost:promotion/outdate on pg

begin;

\set function kernel.outdate
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
    p_reason      text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_verifier
\ir ../_support/assert_kernel_function.psql

rollback;
