-- Verify fencepost:lease/lock_lease on pg

begin;

\set function ledger.lock_lease
select $list$
    p_class        text
    p_campaign_id  bigint
    p_generation   bigint
    p_token_sha256 bytea
    p_states       text[]
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
