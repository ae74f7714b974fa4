-- Verify fencepost:recovery/prune_operations on pg

begin;

\set type kernel.pruning
select $list$
    outcome          text
    duplicate        boolean
    moved            boolean
    note             text
    class            text
    campaign_id      bigint
    generation       bigint
    state            text
    lease_expires_at timestamp with time zone
    message          text
    removed          integer
    is_more          boolean
$list$ as attributes \gset
\ir ../_support/assert_type.psql

\set function kernel.prune_operations
select $list$
    p_class      text
    p_limit      integer  default 1000
    p_older_than interval default null::interval
$list$ as arguments \gset
\set returns kernel.pruning
\set callers fencepost_reaper
\ir ../_support/assert_kernel_function.psql

rollback;
