-- Verify fencepost:promotion/promote on pg

begin;

\set function kernel.promote
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_verifier
\ir ../_support/assert_kernel_function.psql

rollback;
