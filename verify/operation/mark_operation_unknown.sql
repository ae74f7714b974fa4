-- Verify fencepost:operation/mark_operation_unknown on pg

begin;

\set function kernel.mark_operation_unknown
select $list$
    p_class           text
    p_operation_key   text
    p_operation_token uuid
    p_reason          text
    p_diagnostic      jsonb default null::jsonb
$list$ as arguments \gset
\set returns kernel.operation
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;
