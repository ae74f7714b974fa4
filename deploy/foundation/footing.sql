-- Deploy fencepost:foundation/footing to pg
--
-- A dedicated database is closed to PUBLIC: the second lock behind the pinned search_path, since
-- who cannot make an object has nothing to shadow a name with. From a shared one nothing is taken.

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.footing (
    is_footing    boolean not null default true,
    footing       text    not null,
    database_lost text[]  not null,
    schema_lost   text[]  not null,
    admitted      text[]  not null,

    constraint footing_pk primary key (is_footing),
    constraint footing_is_one_row check (is_footing),
    constraint footing_is_known check (footing in ('dedicated', 'shared')),
    constraint footing_takes_nothing_when_shared
    check (footing = 'dedicated' or (database_lost = '{}' and schema_lost = '{}'))
);

comment on table ledger.footing is
    'One row: whether the database is the ledger''s own, and what a revert must restore.';
comment on column ledger.footing.database_lost is
    'Which privileges on the database the deployment took from PUBLIC.';
comment on column ledger.footing.schema_lost is
    'Which privileges on schema public the deployment took from PUBLIC.';
comment on column ledger.footing.admitted is 'Which groups the deployment gave CONNECT.';

-- As sqitch.conf says, or sqitch deploy --set footing=shared.
set local "fencepost.footing" = :'footing';

reset role;

do $do$
declare
    c_footing  constant text   := current_setting('fencepost.footing');
    c_database constant text   := current_database();
    -- Who is given the kernel has to get in.
    c_groups   constant text[] := array(
        select r.rolname
        from pg_catalog.pg_namespace as n
        cross join aclexplode(n.nspacl) as a
        join pg_catalog.pg_roles as r on r.oid = a.grantee
        where n.nspname = 'kernel' and a.grantee <> n.nspowner
        order by 1
    );
    v_database_lost text[] := '{}';
    v_schema_lost   text[] := '{}';
    v_admitted      text[] := '{}';
    v_others        text;
    v_by_others     text;
    v_group         text;
begin
    if c_footing not in ('dedicated', 'shared') then
        raise exception 'footing "%" is none', c_footing
            using errcode = 'invalid_parameter_value',
                  detail  = 'A ledger has a database of its own, or shares one.',
                  hint    = 'Deploy with --set footing=dedicated or --set footing=shared.';
    end if;

    if c_footing = 'dedicated' then
        v_database_lost := array(
            select lower(a.privilege_type)
            from pg_catalog.pg_database as d
            cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
            where d.datname = c_database and a.grantee = 0
            order by 1
        );
        v_schema_lost := array(
            select lower(a.privilege_type)
            from pg_catalog.pg_namespace as n
            cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
            where n.nspname = 'public' and a.grantee = 0
            order by 1
        );
        execute format('revoke all on database %I from public', c_database);
        if v_schema_lost <> '{}' then
            revoke all on schema public from public;
        end if;
        -- A REVOKE takes what the owner gave, and says nothing of what others did.
        select string_agg(g.gave, ', ' order by g.gave),
               string_agg(g.takes_back, '; ' order by g.gave)
        into v_others, v_by_others
        from (
            select distinct
                format('%I on %s', r.rolname, o.object),
                format('set role %I; revoke all on %s from public; reset role', r.rolname, o.object)
            from (
                select format('database %I', d.datname), d.datdba, d.datacl
                from pg_catalog.pg_database as d where d.datname = c_database
                union all
                select 'schema public', n.nspowner, n.nspacl
                from pg_catalog.pg_namespace as n where n.nspname = 'public'
            ) as o (object, owner, acl)
            cross join aclexplode(o.acl) as a
            join pg_catalog.pg_roles as r on r.oid = a.grantor
            where a.grantee = 0 and a.grantor <> o.owner
        ) as g (gave, takes_back);
        if v_others is not null then
            raise exception 'PUBLIC still has what another than the owner gave it'
                using errcode = 'insufficient_privilege',
                      detail  = format('It was given by %s, and nobody else takes it back.',
                                       v_others),
                      hint    = format('Who may become that role, as a superuser may, runs first: %s',
                                       v_by_others);
        end if;
        if exists (
            select from pg_catalog.pg_database as d
            cross join aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) as a
            where d.datname = c_database and a.grantee = 0
        ) then
            raise exception 'PUBLIC still may connect to database "%" or make objects in it',
                c_database
                using errcode = 'insufficient_privilege',
                      detail  = 'A dedicated database is closed to PUBLIC, by its owner. '
                                'Into one that others use, deploy with --set footing=shared.',
                      hint    = 'Deploy as the owner of the database.';
        end if;
        if exists (
            select from pg_catalog.pg_namespace as n
            cross join aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) as a
            where n.nspname = 'public' and a.grantee = 0
        ) then
            raise exception 'PUBLIC still may use schema public'
                using errcode = 'insufficient_privilege',
                      detail  = format('It belongs to %s.', (
                          select n.nspowner::regrole
                          from pg_catalog.pg_namespace as n where n.nspname = 'public')),
                      hint    = 'Its owner runs first: revoke all on schema public from public';
        end if;
    end if;

    foreach v_group in array c_groups loop
        continue when has_database_privilege(v_group, c_database, 'connect');
        execute format('grant connect on database %I to %I', c_database, v_group);
        if not has_database_privilege(v_group, c_database, 'connect') then
            raise exception '% may not connect to database "%"', v_group, c_database
                using errcode = 'insufficient_privilege',
                      hint    = format('Its owner runs first: grant connect on database %I to %s',
                                       c_database, array_to_string(c_groups, ', '));
        end if;
        v_admitted := v_admitted || v_group;
    end loop;

    set local role fencepost_owner;
    insert into ledger.footing (footing, database_lost, schema_lost, admitted)
    values (c_footing, v_database_lost, v_schema_lost, v_admitted);
end
$do$;

create trigger footing_10_not_by_hand
    after insert or update or delete on ledger.footing
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger footing_20_no_truncate
    before truncate on ledger.footing
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.footing enable always trigger footing_10_not_by_hand;
alter table ledger.footing enable always trigger footing_20_no_truncate;

commit;
