-- Verify fencepost:people/prune on pg

begin;

\set function kernel.prune
select $list$
    p_class text
    p_limit integer default 1000
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
