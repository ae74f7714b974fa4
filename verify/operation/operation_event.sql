-- Verify fencepost:operation/operation_event on pg

begin;

\set relation ledger.operation_event
select $list$
    class          text                     not null
    operation_key  text collate "C"         not null
    event_no       bigint                   not null
    incarnation    uuid                     not null
    revision       integer                  not null
    event          text                     not null
    from_state     text                     not null
    to_state       text                     not null
    by_principal   name                     not null
    owner          name                     not null
    token_sha256   bytea                    not null
    campaign_id    bigint
    is_late        boolean                  not null
    reason         text
    diagnostic     jsonb
    at             timestamp with time zone not null
    epoch          integer                  not null
    xid            xid8                     not null
    content_sha256 bytea
$list$ as columns, $list$
    operation_event_move_is_legal
    operation_event_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set type kernel.operation_step
select $list$
    event_no     bigint
    incarnation  uuid
    revision     integer
    event        text
    from_state   text
    to_state     text
    by_principal name
    reason       text
    diagnostic   jsonb
    is_late      boolean
    at           timestamp with time zone
$list$ as attributes \gset
\ir ../_support/assert_report_type.psql

rollback;
