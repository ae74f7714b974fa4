-- Verify fencepost:people/resume on pg

begin;

\set function kernel.resume
select $list$
    p_class  text
    p_reason text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
