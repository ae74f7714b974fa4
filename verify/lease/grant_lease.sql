-- Verify fencepost:lease/grant_lease on pg

begin;

\set function ledger.grant_lease
select $list$
    p_campaign     ledger.campaign
    p_class        ledger.class
    p_token_sha256 bytea
    p_label        text
    p_lease_for    interval
    p_at           timestamp with time zone
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
