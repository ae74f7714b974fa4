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

commit;
