-- Verify fencepost:recovery/reap on pg

begin;

\set function kernel.reap
select $list$
    p_class text
    p_limit integer default 100
$list$ as arguments \gset
\set returns 'setof kernel.receipt'
\set callers fencepost_reaper
\ir ../_support/assert_kernel_function.psql

rollback;
