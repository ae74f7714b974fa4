-- Verify fencepost:log/checkpoint on pg

begin;

\set function kernel.checkpoint
\set arguments 'p_class text'
\set returns kernel.checkpoint
\set callers 'fencepost_reaper fencepost_auditor'
\ir ../_support/assert_kernel_function.psql

rollback;
