-- Verify fencepost:operation/conclude on pg

begin;

\set function ledger.shows
select $list$
    p_operation ledger.operation
    p_read_back jsonb
$list$ as arguments \gset
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.conclude
select $list$
    p_function        text
    p_class           text
    p_operation_key   text
    p_operation_token uuid
    p_said            ledger.operation
$list$ as arguments \gset
\set returns kernel.operation
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
