-- Verify fencepost:recovery/lose on pg

begin;

\set function ledger.lose
select $list$
    p_campaign   ledger.campaign
    p_class      ledger.class
    p_at         timestamp with time zone
    p_reason     text
    p_is_counted boolean
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
