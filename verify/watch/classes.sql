-- Verify fencepost:watch/classes on pg

begin;

\set function kernel.classes
\set arguments ''
\set returns 'setof text'
select $list$
    fencepost_worker fencepost_verifier fencepost_reaper
    fencepost_sensor fencepost_admin fencepost_auditor
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

rollback;
