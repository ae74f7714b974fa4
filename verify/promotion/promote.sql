-- Verify fencepost:promotion/promote on pg

begin;

\set function kernel.promote
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
    p_old_value   text
    p_new_value   text
    p_fence_value text
    p_read_back   text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_verifier
\ir ../_support/assert_kernel_function.psql

rollback;
