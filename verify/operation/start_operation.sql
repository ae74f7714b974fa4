-- Verify fencepost:operation/start_operation on pg

begin;

\set function kernel.start_operation
select $list$
    p_class           text
    p_operation_key   text
    p_operation_token uuid
$list$ as arguments \gset
\set returns kernel.operation
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;
