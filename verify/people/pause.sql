-- Verify fencepost:people/pause on pg

begin;

\set function ledger.set_paused
select $list$
    p_function  text
    p_class     text
    p_is_paused boolean
    p_reason    text
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function kernel.pause
select $list$
    p_class  text
    p_reason text default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
