-- Verify fencepost:operation/renew_operation on pg

begin;

\set function kernel.renew_operation
select $list$
    p_class           text
    p_operation_key   text
    p_operation_token uuid
    p_lease_for       interval default null::interval
$list$ as arguments \gset
\set returns kernel.operation
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;
