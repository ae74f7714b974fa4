-- Verify fencepost:campaign/answer_with on pg

begin;

\set function ledger.answer_with
select $list$
    p_campaign  ledger.campaign
    p_moved     boolean
    p_duplicate boolean         default false
    p_note      text            default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.campaign_of
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
