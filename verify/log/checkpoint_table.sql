-- Verify fencepost:log/checkpoint_table on pg

begin;

\set relation ledger.checkpoint
select $list$
    class           text                     not null
    checkpoint_no   bigint                   not null
    made_at         timestamp with time zone not null
    made_by         name                     not null
    version         integer                  not null
    upto_epoch      integer                  not null
    upto_xid        xid8                     not null
    event_count     bigint                   not null
    events_sha256   bytea                    not null
    previous_sha256 bytea
    sha256          bytea                    not null
$list$ as columns, $list$
    checkpoint_digests_are_sha256
    checkpoint_only_the_first_has_none_before
    checkpoint_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.checkpoint
select $list$
    checkpoint_10_append_only before delete or update, each row: tg__append_only
    checkpoint_20_no_truncate before truncate, each statement: tg__append_only
    checkpoint_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

\set type kernel.checkpoint
select $list$
    outcome          text
    duplicate        boolean
    moved            boolean
    note             text
    class            text
    campaign_id      bigint
    generation       bigint
    state            text
    lease_expires_at timestamp with time zone
    message          text
    checkpoint_no    bigint
    event_count      bigint
    sha256           bytea
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;
