-- Verify fencepost:campaign/budget on pg

begin;

\set function ledger.spent_budget
select $list$
    p_campaign ledger.campaign
    p_class    ledger.class
    p_phase    text
$list$ as arguments \gset
\set returns text
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.retry_at
select $list$
    p_class ledger.class
    p_count integer
    p_now   timestamp with time zone
$list$ as arguments \gset
\set returns 'timestamp with time zone'
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.lease_length
select $list$
    p_class     ledger.class
    p_lease_for interval
$list$ as arguments \gset
\set returns interval
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
