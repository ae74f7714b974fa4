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

\set function ledger.class_health
select $list$
    p_class ledger.class
    p_at    timestamp with time zone
$list$ as arguments \gset
\set returns 'setof kernel.health'
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.server_health
select $list$
    p_oldest_s    numeric
    p_oldest_xids numeric
    p_dead        numeric
    p_live        numeric
    p_queue       numeric
    p_collectors  numeric
    p_collecting  numeric
    p_collected   text
$list$ as arguments \gset
\set returns 'setof kernel.health'
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function kernel.health
\set arguments ''
\set returns 'setof kernel.health'
\set callers 'fencepost_admin fencepost_auditor'
\ir ../_support/assert_kernel_function.psql

rollback;
