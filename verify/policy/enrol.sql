-- Verify fencepost:policy/enrol on pg

begin;

\set function ledger.require_duty
\set arguments 'p_duty text'
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function kernel.enrol
select $list$
    p_class     text
    p_principal text
    p_duty      text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
