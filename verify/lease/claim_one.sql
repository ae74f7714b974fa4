-- Verify fencepost:lease/claim_one on pg

begin;

\set function ledger.claim_one
select $list$
    p_function     text
    p_class        ledger.class
    p_token_sha256 bytea
    p_label        text
    p_lease_for    interval
$list$ as arguments \gset
\set returns 'setof kernel.lease'
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
