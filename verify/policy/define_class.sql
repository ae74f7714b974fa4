-- Verify fencepost:policy/define_class on pg

begin;

\set function kernel.define_class
select $list$
    p_class  text
    p_policy jsonb default '{}'::jsonb
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
