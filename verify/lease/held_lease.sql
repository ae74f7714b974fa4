-- Verify fencepost:lease/held_lease on pg

begin;

\set function ledger.held_lease
select $list$
    p_function     text
    p_class        ledger.class
    p_token_sha256 bytea
    p_states       text[]
    p_transition   text default null::text
$list$ as arguments \gset
\set returns 'setof kernel.lease'
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;
