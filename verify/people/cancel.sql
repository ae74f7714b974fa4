-- Verify fencepost:people/cancel on pg

begin;

\set function kernel.cancel
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_quiet_for   interval default '00:00:00'::interval
    p_reason      text     default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
