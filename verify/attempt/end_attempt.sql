-- Verify fencepost:attempt/end_attempt on pg

begin;

\set function ledger.end_attempt
select $list$
    p_campaign       ledger.campaign
    p_ending         text
    p_at             timestamp with time zone
    p_reason         text                     default null::text
    p_content_sha256 bytea                    default null::bytea
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.live_attempt
\set arguments 'p_campaign ledger.campaign'
\set returns ledger.attempt
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
