-- Verify fencepost:log/log_digest on pg

begin;

\set function ledger.log_digest
select $list$
    p_class      text
    p_from_epoch integer
    p_from_xid   xid8
    p_upto_epoch integer
    p_upto_xid   xid8
$list$ as arguments \gset
\set returns ledger.checkpoint
\set volatility stable
\ir ../_support/assert_helper.psql

\set function ledger.checkpoint_digest
\set arguments 'p_checkpoint ledger.checkpoint'
\set returns bytea
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
