-- Verify fencepost:people/retire_target on pg

begin;

\set function kernel.retire_target
select $list$
    p_class  text
    p_target text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
