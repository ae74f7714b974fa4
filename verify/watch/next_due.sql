-- Verify fencepost:watch/next_due on pg

begin;

\set function kernel.next_due
\set arguments 'p_class text'
\set returns 'timestamp with time zone'
select $list$
    fencepost_worker fencepost_verifier fencepost_reaper
    fencepost_sensor fencepost_admin fencepost_auditor
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
