-- Verify fencepost:operation/resolve_operation on pg

begin;

\set function kernel.resolve_operation
select $list$
    p_class         text
    p_operation_key text
    p_incarnation   uuid
    p_revision      integer
    p_state         text
    p_reason        text    default null::text
    p_result        jsonb   default null::jsonb
    p_read_back     jsonb   default null::jsonb
    p_result_text   text    default null::text
    p_token         uuid    default null::uuid
$list$ as arguments \gset
\set returns kernel.operation
select $list$
    fencepost_worker fencepost_verifier fencepost_admin
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
