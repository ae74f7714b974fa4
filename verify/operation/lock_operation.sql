-- Verify fencepost:operation/lock_operation on pg

begin;

\set function ledger.require_operation
select $list$
    p_class         text
    p_operation_key text
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.operation_of
select $list$
    p_class         text
    p_operation_key text
$list$ as arguments \gset
\set returns ledger.operation
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.lock_operation
select $list$
    p_class         text
    p_operation_key text
    p_token_sha256  bytea
    p_states        text[]
$list$ as arguments \gset
\set returns ledger.operation
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.is_repeated_operation
select $list$
    p_class          text
    p_operation_key  text
    p_token_sha256   bytea
    p_content_sha256 bytea
$list$ as arguments \gset
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.refuse_operation
select $list$
    p_function      text
    p_class         text
    p_operation_key text
    p_token_sha256  bytea
$list$ as arguments \gset
\set returns kernel.operation
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.does_operations
\set arguments 'p_class text'
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
