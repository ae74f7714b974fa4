-- Verify fencepost:policy/log_config on pg

begin;

\set function ledger.log_config
select $list$
    p_class        text
    p_action       text
    p_subject      text
    p_before       jsonb
    p_after        jsonb
    p_token_sha256 bytea default null::bytea
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
