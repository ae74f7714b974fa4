-- Verify fencepost:people/set_priority on pg

begin;

\set function ledger.lock_act
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
$list$ as arguments \gset
\set returns ledger.campaign
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function kernel.set_priority
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_priority    integer
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
