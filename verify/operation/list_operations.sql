-- Verify fencepost:operation/list_operations on pg

begin;

\set function kernel.list_operations
select $list$
    p_class     text
    p_state     text                     default null::text
    p_after_key text                     default null::text
    p_after_at  timestamp with time zone default null::timestamp with time zone
    p_limit     integer                  default 100
$list$ as arguments \gset
\set returns 'setof kernel.operation'
select $list$
    fencepost_worker fencepost_verifier fencepost_admin
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
