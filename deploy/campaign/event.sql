-- Deploy fencepost:campaign/event to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.campaign_event (
    class           text        not null,
    campaign_id     bigint      not null,
    event_no        bigint      not null,
    transition      text        not null,
    from_state      text        not null,
    to_state        text        not null,
    generation      bigint      not null,
    by_principal    name        not null,
    holder          name,
    is_late         boolean     not null,
    next_attempt_at timestamptz not null,
    at              timestamptz not null,
    epoch           integer     not null,
    xid             xid8        not null,
    detail          jsonb,
    content_sha256  bytea,

    constraint campaign_event_pk primary key (class, campaign_id, event_no),
    constraint campaign_event_campaign_fk
        foreign key (class, campaign_id) references ledger.campaign (class, campaign_id),
    constraint campaign_event_move_is_legal
        foreign key (transition, from_state, to_state)
        references ledger.transition (transition, from_state, to_state)
);

-- The log in the order in which a reader tails it, and a checkpoint digests it.
create index campaign_event_log_ix
    on ledger.campaign_event (class, epoch, xid, campaign_id, event_no);

comment on table ledger.campaign_event is
    'Every move of every campaign, numbered without gaps, written in the move''s own transaction.';
comment on column ledger.campaign_event.generation is 'The campaign''s generation after the move.';
comment on column ledger.campaign_event.by_principal is 'The session that made the move.';
comment on column ledger.campaign_event.holder is 'Who held the lease before or after the move.';
comment on column ledger.campaign_event.is_late is
    'The holder made it after its lease had run out, while nobody else had taken the campaign.';
comment on column ledger.campaign_event.epoch is
    'The class''s epoch: with xid it orders events also across a restore.';
comment on column ledger.campaign_event.xid is 'The transaction of the move.';

commit;
