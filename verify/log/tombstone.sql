-- Verify fencepost:log/tombstone on pg

begin;

\set relation ledger.tombstone
select $list$
    class         text                     not null
    campaign_id   bigint                   not null
    target        text                     not null
    final_state   text                     not null
    generation    bigint                   not null
    attempt_count integer                  not null
    event_count   bigint                   not null
    opened_at     timestamp with time zone not null
    closed_at     timestamp with time zone not null
    human_acts_at timestamp with time zone[] not null
    event_epochs  integer[]                not null
    event_xids    xid8[]                   not null
    event_digests bytea[]                  not null
    sha256        bytea                    not null
    pruned_at     timestamp with time zone not null
    pruned_by     name                     not null
    pruned_xid    xid8                     not null
$list$ as columns, $list$
    tombstone_keeps_every_event
    tombstone_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

rollback;
