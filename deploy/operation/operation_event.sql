-- Deploy fencepost:operation/operation_event to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.operation_event (
    class          text             not null,
    operation_key  text collate "C" not null,
    event_no       bigint           not null,
    incarnation    uuid             not null,
    revision       integer          not null,
    event          text             not null,
    from_state     text             not null,
    to_state       text             not null,
    by_principal   name             not null,
    owner          name             not null,
    token_sha256   bytea            not null,
    campaign_id    bigint,
    is_late        boolean          not null,
    reason         text,
    diagnostic     jsonb,
    at             timestamptz      not null,
    epoch          integer          not null,
    xid            xid8             not null,
    content_sha256 bytea,

    constraint operation_event_pk primary key (class, operation_key, event_no),
    constraint operation_event_move_is_legal
        foreign key (event, from_state, to_state)
        references ledger.operation_transition (event, from_state, to_state)
);

comment on table ledger.operation_event is
    'Every move of every operation, numbered without gaps, written in the move''s own transaction.';
comment on column ledger.operation_event.owner is 'Who owned it after the move.';
comment on column ledger.operation_event.token_sha256 is 'Of the owner''s token.';
comment on column ledger.operation_event.is_late is
    'Its owner made it after its lease had run out, or after it had become unknown.';
comment on column ledger.operation_event.content_sha256 is
    'The digest of the call, by which its repeat is recognised.';

create type kernel.operation_step as (
    event_no     bigint,
    incarnation  uuid,
    revision     integer,
    event        text,
    from_state   text,
    to_state     text,
    by_principal name,
    reason       text,
    diagnostic   jsonb,
    is_late      boolean,
    at           timestamptz
);

comment on type kernel.operation_step is 'One event of an operation''s history.';

commit;
