-- Verify fencepost:recovery/expire_operations on pg

begin;

\set function kernel.expire_operations
select $list$
    p_class text
    p_limit integer default 100
$list$ as arguments \gset
\set returns 'setof kernel.operation'
\set callers fencepost_reaper
\ir ../_support/assert_kernel_function.psql

rollback;
