-- Verify fencepost:policy/deauthorise on pg

begin;

\set function kernel.deauthorise
select $list$
    p_class  text
    p_duty   text
    p_kind   text
    p_target text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
