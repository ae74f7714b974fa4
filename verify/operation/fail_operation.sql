-- Verify fencepost:operation/fail_operation on pg

begin;

\set function kernel.fail_operation
select $list$
    p_class           text
    p_operation_key   text
    p_operation_token uuid
    p_reason          text
    p_result          jsonb default null::jsonb
    p_result_text     text  default null::text
$list$ as arguments \gset
\set returns kernel.operation
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;
