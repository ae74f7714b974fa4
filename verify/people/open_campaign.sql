-- Verify fencepost:people/open_campaign on pg

begin;

\set function kernel.open_campaign
select $list$
    p_class  text
    p_target text
    p_token  uuid
    p_reason text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
