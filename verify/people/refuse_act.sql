-- Verify fencepost:people/refuse_act on pg

begin;

\set function ledger.refuse_act
select $list$
    p_function       text
    p_class          text
    p_campaign_id    bigint
    p_generation     bigint
    p_content_sha256 bytea
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
