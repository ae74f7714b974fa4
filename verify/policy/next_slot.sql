-- Verify fencepost:policy/next_slot on pg

begin;

\set function ledger.next_slot
select $list$
    p_target ledger.target
    p_at     timestamp with time zone
$list$ as arguments \gset
\set returns 'timestamp with time zone'
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
