-- Verify fencepost:lease/as_lease on pg

begin;

\set function ledger.as_lease
select $list$
    p_receipt  kernel.receipt
    p_campaign ledger.campaign default null::ledger.campaign
    p_class    ledger.class    default null::ledger.class
$list$ as arguments \gset
\set returns kernel.lease
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
