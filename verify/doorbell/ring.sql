-- Verify fencepost:doorbell/ring on pg

begin;

\set function kernel.ring
\set arguments 'p_class text'
\set returns void
select $list$
    fencepost_worker fencepost_verifier fencepost_reaper
    fencepost_sensor fencepost_admin fencepost_auditor
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
