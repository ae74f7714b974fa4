-- Verify fencepost:policy/config_event on pg

begin;

\set relation ledger.config_event
select $list$
    class           text                     not null
    config_event_no bigint                   not null generated always as identity
    action          text                     not null
    subject         text                     not null
    by_principal    name                     not null
    at              timestamp with time zone not null
    before          jsonb
    after           jsonb
    token_sha256    bytea
$list$ as columns, $list$
    config_event_pk
    config_event_token_uq
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.config_event
select $list$
    config_event_10_append_only before delete or update, each row: tg__append_only
    config_event_20_no_truncate before truncate, each statement: tg__append_only
    config_event_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;
