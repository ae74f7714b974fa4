-- Verify fencepost:observation/open on pg

begin;

\set function ledger.open
select $list$
    p_target         ledger.target
    p_at             timestamp with time zone
    p_observation_no bigint                   default null::bigint
    p_token_sha256   bytea                    default null::bytea
    p_reason         text                     default null::text
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
