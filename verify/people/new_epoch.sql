-- Verify fencepost:people/new_epoch on pg

begin;

\set function kernel.new_epoch
select $list$
    p_class  text
    p_token  uuid
    p_reason text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
