-- Deploy fencepost:policy/config_event to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.config_event (
    class           text        not null,
    config_event_no bigint      not null generated always as identity,
    action          text        not null,
    subject         text        not null,
    by_principal    name        not null,
    at              timestamptz not null,
    before          jsonb,
    after           jsonb,
    token_sha256    bytea,

    constraint config_event_pk primary key (class, config_event_no),
    constraint config_event_token_uq unique (class, token_sha256)
);

create trigger config_event_10_append_only
    before update or delete on ledger.config_event
    for each row execute function ledger.tg__append_only();
create trigger config_event_20_no_truncate
    before truncate on ledger.config_event
    for each statement execute function ledger.tg__append_only();
create trigger config_event_30_not_by_hand
    after insert or update or delete on ledger.config_event
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.config_event enable always trigger config_event_10_append_only;
alter table ledger.config_event enable always trigger config_event_20_no_truncate;
alter table ledger.config_event enable always trigger config_event_30_not_by_hand;

comment on table ledger.config_event is
    'Who changed a policy, a target, a principal or an enrolment, and from what to what.';
comment on column ledger.config_event.class is 'The class concerned; empty for a principal.';
comment on column ledger.config_event.action is 'The kernel function, without its schema.';
comment on column ledger.config_event.token_sha256 is
    'Of the token by which the act''s repeat is recognised, where it has one; shown to nobody.';

commit;
