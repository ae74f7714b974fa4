-- Verify fencepost:lease/earlier_attempts on pg

begin;

\set function ledger.earlier_attempts
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns jsonb
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.refused_fingerprints
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns text[]
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
