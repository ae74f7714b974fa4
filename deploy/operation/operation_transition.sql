-- Deploy fencepost:operation/operation_transition to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.operation_transition (
    event      text   not null,
    from_state text   not null,
    to_state   text   not null,
    duties     text[] not null,
    is_started boolean,

    constraint operation_transition_pk primary key (event, from_state, to_state)
);

comment on table ledger.operation_transition is
    'The legal moves of an external operation. A move that is not a row here cannot be made.';
comment on column ledger.operation_transition.from_state is '"none" where there was no row.';
comment on column ledger.operation_transition.duties is
    'Who makes it: the session''s principal is in one of the groups fencepost_<duty>.';
comment on column ledger.operation_transition.is_started is
    'Whether its effect must have been started before, or must not; null where either will do.';

insert into ledger.operation_transition
    (event, from_state, to_state, duties, is_started)
values
    ('begin',        'none',     'pending',   '{worker,verifier}',              null),
    ('begin',        'released', 'pending',   '{worker,verifier}',              null),
    ('take_over',    'pending',  'pending',   '{worker,verifier}',              false),
    ('start',        'pending',  'pending',   '{worker,verifier}',              false),
    ('complete',     'pending',  'completed', '{worker,verifier}',              null),
    ('complete',     'unknown',  'completed', '{worker,verifier}',              null),
    ('fail',         'pending',  'failed',    '{worker,verifier}',              null),
    ('mark_unknown', 'pending',  'unknown',   '{worker,verifier}',              null),
    ('release',      'pending',  'released',  '{worker,verifier,reaper,admin}', false),
    ('abandon',      'pending',  'unknown',   '{worker,verifier,reaper,admin}', null),
    ('expire',       'pending',  'unknown',   '{worker,verifier,reaper}',       true),
    ('resolve',      'unknown',  'completed', '{worker,verifier,admin}',        null),
    ('resolve',      'unknown',  'failed',    '{worker,verifier,admin}',        null),
    ('inquire',      'unknown',  'unknown',   '{worker,verifier,admin}',        null),
    ('ask_again',    'unknown',  'unknown',   '{admin}',                        null);

create trigger operation_transition_10_append_only
    before insert or update or delete on ledger.operation_transition
    for each row execute function ledger.tg__append_only();
create trigger operation_transition_20_no_truncate
    before truncate on ledger.operation_transition
    for each statement execute function ledger.tg__append_only();
alter table ledger.operation_transition enable always trigger operation_transition_10_append_only;
alter table ledger.operation_transition enable always trigger operation_transition_20_no_truncate;

commit;
