-- Verify fencepost:log/bury on pg

begin;

\set function ledger.bury
select $list$
    p_campaign ledger.campaign
    p_at       timestamp with time zone
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
