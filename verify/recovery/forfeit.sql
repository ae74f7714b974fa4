-- Verify fencepost:recovery/forfeit on pg

begin;

\set function ledger.forfeit
select $list$
    p_campaign ledger.campaign
    p_at       timestamp with time zone
$list$ as arguments \gset
\set returns text
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
