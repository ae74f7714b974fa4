-- Verify fencepost:observation/took_part on pg

begin;

\set function ledger.took_part
select $list$
    p_class       text
    p_campaign_id bigint
    p_attempt_no  integer
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
