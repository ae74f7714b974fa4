-- Verify fencepost:policy/register_principal on pg

begin;

\set function kernel.register_principal
select $list$
    p_principal text
    p_family    text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
