-- Verify fencepost:policy/value on pg

begin;

\set function ledger.policy_keys
select $list$
    p_policy jsonb
    p_known  text[]
$list$ as arguments \gset
\set returns void
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.policy_span
select $list$
    p_policy  jsonb
    p_key     text
    p_default interval
    p_min     interval
    p_max     interval
$list$ as arguments \gset
\set returns interval
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.policy_number
select $list$
    p_policy     jsonb
    p_key        text
    p_default    numeric
    p_min        numeric
    p_max        numeric
    p_is_integer boolean
$list$ as arguments \gset
\set returns numeric
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.policy_flag
select $list$
    p_policy  jsonb
    p_key     text
    p_default boolean
$list$ as arguments \gset
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

rollback;
