-- Verify fencepost:people/park on pg

begin;

\set function kernel.park
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_reason      text   default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
