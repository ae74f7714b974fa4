-- Deploy fencepost:foundation/origin to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.origin (
    is_origin            boolean     not null default true,
    ledger_uuid          uuid        not null default gen_random_uuid(),
    deployed_at          timestamptz not null default clock_timestamp(),
    deployed_by          name        not null default session_user,
    public_had_temporary boolean     not null,

    constraint origin_pk primary key (is_origin),
    constraint origin_is_one_row check (is_origin)
);

comment on table ledger.origin is
    'One row: which ledger this is, and what the deployment found and must give back.';
comment on column ledger.origin.public_had_temporary is
    'Whether PUBLIC could make temporary objects here before; revert restores it.';

insert into ledger.origin (public_had_temporary)
select exists (
    select from pg_catalog.aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
    where a.grantee = 0 and a.privilege_type = 'TEMPORARY'
)
from pg_catalog.pg_database as d
where d.datname = current_database();

create trigger origin_10_not_by_hand
    after insert or update or delete or truncate on ledger.origin
    for each statement
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') = 'fencepost_owner'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.origin enable always trigger origin_10_not_by_hand;

reset role;

-- The second lock behind the pinned search_path: who cannot make temporary objects has nothing
-- to shadow a name with.
do $do$
begin
    execute format('revoke temporary on database %I from public', current_database());
    if exists (
        select from pg_catalog.pg_database as d
        cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
        where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'TEMPORARY'
    ) then
        raise exception 'PUBLIC still may make temporary objects in database "%"',
            current_database()
            using hint = 'Deploy as the owner of the database.';
    end if;
end
$do$;

commit;
