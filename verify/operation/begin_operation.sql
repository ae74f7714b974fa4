-- Verify fencepost:operation/begin_operation on pg

begin;

\set function ledger.campaign_operation_bar
select $list$
    p_campaign  ledger.campaign
    p_class     ledger.class
    p_operation ledger.operation
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.begun_before
\set arguments 'p_operation ledger.operation'
\set returns kernel.operation
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function kernel.begin_operation
select $list$
    p_class           text
    p_operation_token uuid
    p_kind            text
    p_target          text
    p_fingerprint     text
    p_campaign_id     bigint   default null::bigint
    p_generation      bigint   default null::bigint
    p_token           uuid     default null::uuid
    p_ordinal         integer  default 1
    p_expected        jsonb    default null::jsonb
    p_key             text     default null::text
    p_label           text     default null::text
    p_lease_for       interval default null::interval
$list$ as arguments \gset
\set returns kernel.operation
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;
