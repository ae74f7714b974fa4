-- Verify fencepost:people/retire_class on pg

begin;

\set function kernel.retire_class
\set arguments 'p_class text'
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
