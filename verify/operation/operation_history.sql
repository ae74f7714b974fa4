-- Verify fencepost:operation/operation_history on pg

begin;

\set function kernel.operation_history
select $list$
    p_class         text
    p_operation_key text
$list$ as arguments \gset
\set returns 'setof kernel.operation_step'
select $list$
    fencepost_worker fencepost_verifier fencepost_admin
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
