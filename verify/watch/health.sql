-- Verify fencepost:watch/health on pg

begin;

\set type kernel.health
select $list$
    class    text
    subject  text
    quantity numeric
    is_well  boolean
    message  text
$list$ as attributes \gset
\ir ../_support/assert_report_type.psql

\set function kernel.health
\set arguments ''
\set returns 'setof kernel.health'
\set callers 'fencepost_admin fencepost_auditor'
\ir ../_support/assert_kernel_function.psql

rollback;
