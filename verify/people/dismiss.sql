-- Verify fencepost:people/dismiss on pg

begin;

\set function kernel.dismiss
select $list$
    p_class     text
    p_principal text
    p_duty      text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
