-- Verify fencepost:campaign/move on pg

begin;

\set function ledger.move
select $list$
    p_campaign       ledger.campaign
    p_transition     text
    p_to_state       text
    p_at             timestamp with time zone
    p_detail         jsonb                    default null::jsonb
    p_content_sha256 bytea                    default null::bytea
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
