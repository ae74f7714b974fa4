-- Verify fencepost:attempt/allowance on pg

begin;

\set relation ledger.allowance
select $list$
    class       text                     not null
    campaign_id bigint                   not null
    fingerprint text                     not null
    reason      text                     not null
    allowed_by  name                     not null
    allowed_at  timestamp with time zone not null
$list$ as columns, $list$
    allowance_campaign_fk
    allowance_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.allowance
select $list$
    allowance_10_kept before delete or update, each row: tg__kept_with_campaign
    allowance_20_no_truncate before truncate, each statement: tg__append_only
    allowance_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
