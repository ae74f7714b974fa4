-- Verify fencepost:watch/api_version on pg

begin;

\set function kernel.api_version
\set arguments ''
\set returns integer
select $list$
    fencepost_worker fencepost_verifier fencepost_reaper
    fencepost_sensor fencepost_admin fencepost_auditor fencepost_collector
$list$ as callers \gset
\ir ../_support/assert_kernel_function.psql

do $verify$
begin
    assert kernel.api_version() = 1, 'this is version 1 of the kernel''s functions and types';
end
$verify$;

rollback;
