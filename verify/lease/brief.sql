-- Verify fencepost:lease/brief on pg

begin;

\set function ledger.require_committed
select $list$
    p_what text
    p_xid  xid8
$list$ as arguments \gset
\set returns void
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.brief
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
$list$ as arguments \gset
\set returns kernel.assignment
\set callers fencepost_worker
\ir ../_support/assert_kernel_function.psql

rollback;
