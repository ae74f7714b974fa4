-- Verify fencepost:campaign/lineage on pg

begin;

\set function ledger.lineage
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns 'setof bigint'
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
