-- Verify fencepost:people/allow_repeat on pg

begin;

\set function kernel.allow_repeat
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_fingerprint text
    p_reason      text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
