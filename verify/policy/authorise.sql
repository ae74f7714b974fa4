-- Verify fencepost:policy/authorise on pg

begin;

\set function ledger.require_kind
\set arguments 'p_kind text'
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.require_authority
select $list$
    p_class  text
    p_duty   text
    p_kind   text
    p_target text
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function kernel.authorise
select $list$
    p_class         text
    p_duty          text
    p_kind          text
    p_target        text
    p_is_standalone boolean default false
    p_limit         integer default null::integer
$list$ as arguments \gset
\set returns kernel.receipt
\set callers fencepost_admin
\ir ../_support/assert_kernel_function.psql

rollback;
