-- Verify fencepost:policy/define_target on pg

begin;

\set function ledger.checked_acceptance
\set arguments 'p_acceptance jsonb'
\set returns jsonb
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.checked_time_of_day
\set arguments 'p_policy jsonb'
\set returns ledger.target
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.define_target
select $list$
    p_class         text
    p_target        text
    p_location      jsonb
    p_desired_state jsonb
    p_acceptance    jsonb
    p_policy        jsonb default '{}'::jsonb
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
