-- Verify fencepost:operation/operation_key on pg

begin;

\set function ledger.own_target
select $list$
    p_target   text
    p_location jsonb
$list$ as arguments \gset
\set returns text
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.operation_key
select $list$
    p_class       text
    p_epoch       integer
    p_campaign_id bigint
    p_attempt_no  integer
    p_kind        text
    p_target      text
    p_ordinal     integer
$list$ as arguments \gset
\set returns text
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
