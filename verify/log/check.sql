-- Verify fencepost:log/check on pg

begin;

\set type kernel.finding
select $list$
    class       text
    campaign_id bigint
    subject     text
    finding     text
$list$ as attributes \gset
\ir ../_support/assert_report_type.psql

\set function ledger.check_campaigns
\set arguments 'p_class text'
\set returns 'setof kernel.finding'
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.check_events
\set arguments 'p_class text'
\set returns 'setof kernel.finding'
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.check_attempts
\set arguments 'p_class text'
\set returns 'setof kernel.finding'
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.check_operations
\set arguments 'p_class text'
\set returns 'setof kernel.finding'
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.check
\set arguments 'p_class text'
\set returns 'setof kernel.finding'
\set callers fencepost_auditor
\ir ../_support/assert_kernel_function.psql

rollback;
