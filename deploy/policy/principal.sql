-- Deploy fencepost:policy/principal to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.principal (
    principal     name        not null,
    principal_oid oid         not null,
    family        text,
    registered_at timestamptz not null,
    registered_by name        not null,

    constraint principal_pk primary key (principal),
    constraint principal_family_is_bounded check (octet_length(family) between 1 and 200)
);

comment on table ledger.principal is
    'The LOGIN roles that act; name and OID together, so that a role made anew is another one.';
comment on column ledger.principal.family is
    'The model family, as an admin registered it; a principal never claims one for itself.';

create trigger principal_10_not_by_hand
    after insert or update or delete on ledger.principal
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger principal_20_no_truncate
    before truncate on ledger.principal
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.principal enable always trigger principal_10_not_by_hand;
alter table ledger.principal enable always trigger principal_20_no_truncate;

commit;
