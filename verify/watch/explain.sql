-- Verify fencepost:watch/explain on pg

begin;

\set function kernel.explain
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns text
\set callers 'fencepost_admin fencepost_auditor'
\ir ../_support/assert_kernel_function.psql

rollback;
