-- Verify fencepost:operation/settle_operations on pg

begin;

\set function ledger.open_operation_bars
select $list$
    p_campaign   ledger.campaign
    p_transition text
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.settle_operations
select $list$
    p_campaign   ledger.campaign
    p_transition text
    p_at         timestamp with time zone
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.dismiss_operations
select $list$
    p_class     text
    p_principal text
    p_duty      text
    p_at        timestamp with time zone
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.doubt_operations
select $list$
    p_class text
    p_at    timestamp with time zone
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.unknown_operations
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns jsonb
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
