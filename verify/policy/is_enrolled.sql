-- Verify fencepost:policy/is_enrolled on pg

begin;

\set function ledger.is_enrolled
select $list$
    p_class text
    p_duty  text
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.forbid
select $list$
    p_function text
    p_class    text
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
