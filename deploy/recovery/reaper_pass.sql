-- Deploy fencepost:recovery/reaper_pass to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.reaper_pass (
    class        text        not null,
    principal    name        not null,
    passed_at    timestamptz not null,
    reaped_count bigint      not null,
    locked_count integer     not null,

    constraint reaper_pass_pk primary key (class, principal)
);

comment on table ledger.reaper_pass is
    'When which reaper last went over a class, to the minute: not every idle pass is written.';
comment on column ledger.reaper_pass.reaped_count is 'How many moves it has made there in all.';
comment on column ledger.reaper_pass.locked_count is
    'How many leases that had run out its last pass left, since somebody else had them locked.';

create trigger reaper_pass_10_not_by_hand
    after insert or update or delete on ledger.reaper_pass
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger reaper_pass_20_no_truncate
    before truncate on ledger.reaper_pass
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.reaper_pass enable always trigger reaper_pass_10_not_by_hand;
alter table ledger.reaper_pass enable always trigger reaper_pass_20_no_truncate;

commit;
