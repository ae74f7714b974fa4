-- Verify fencepost:verification/judge_bar on pg

begin;

\set function ledger.bar_of
select $list$
    p_principal_oid   oid
    p_class           text
    p_campaign_id     bigint
    p_attempt_no      integer
    p_separate_family boolean
$list$ as arguments \gset
\set returns text
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.judge_bar
select $list$
    p_class           text
    p_campaign_id     bigint
    p_attempt_no      integer
    p_separate_family boolean
$list$ as arguments \gset
\set returns text
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.has_judge
\set arguments 'p_campaign ledger.campaign'
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
