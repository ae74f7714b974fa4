-- Verify fencepost:observation/as_observation on pg

begin;

\set function ledger.as_observation
select $list$
    p_receipt     kernel.receipt
    p_observation ledger.observation default null::ledger.observation
$list$ as arguments \gset
\set returns kernel.observation
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.lock_target
select $list$
    p_class  text
    p_target text
$list$ as arguments \gset
\set returns ledger.target
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
