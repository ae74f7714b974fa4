-- Verify fencepost:operation/get_operation on pg

begin;

\set function kernel.get_operation
select $list$
    p_class         text
    p_operation_key text
$list$ as arguments \gset
\set returns 'setof kernel.operation'
select $list$
    fencepost_worker fencepost_verifier fencepost_admin
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
