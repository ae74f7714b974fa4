-- Verify fencepost:log/kept_with_campaign on pg

begin;

\set function ledger.is_pruned_now
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.tg__kept_with_campaign
\ir ../_support/assert_trigger_function.psql

rollback;
