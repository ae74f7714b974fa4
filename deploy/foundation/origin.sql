-- Deploy fencepost:foundation/origin to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.origin (
    is_origin   boolean     not null default true,
    ledger_uuid uuid        not null default gen_random_uuid(),
    deployed_at timestamptz not null default clock_timestamp(),
    deployed_by name        not null default session_user,

    constraint origin_pk primary key (is_origin),
    constraint origin_is_one_row check (is_origin)
);

comment on table ledger.origin is 'One row: which ledger this is, and who deployed it when.';

insert into ledger.origin default values;

create trigger origin_10_not_by_hand
    after insert or update or delete on ledger.origin
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger origin_20_no_truncate
    before truncate on ledger.origin
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.origin enable always trigger origin_10_not_by_hand;
alter table ledger.origin enable always trigger origin_20_no_truncate;

commit;
