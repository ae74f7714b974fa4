-- Deploy fencepost:foundation/roles to pg
--
-- Roles belong to the cluster, not to this database: they are made where they are
-- missing, checked where they exist, and never dropped.

begin;
set local search_path = pg_catalog, pg_temp;

-- In another encoding one text has other bytes, and a client's may not fit at all.
do $do$
begin
    if current_setting('server_encoding') <> 'UTF8' then
        raise exception 'database "%" is encoded in %', current_database(),
            current_setting('server_encoding')
            using detail = 'The ledger keeps what people and programs write, in any script.',
                  hint   = 'Create the database with: encoding ''UTF8'' template template0';
    end if;
end
$do$;

do $do$
declare
    v_role text;
begin
    foreach v_role in array array[
        'fencepost_owner', 'fencepost_sensor', 'fencepost_worker', 'fencepost_verifier',
        'fencepost_reaper', 'fencepost_admin', 'fencepost_auditor', 'fencepost_collector'
    ] loop
        if not exists (select from pg_catalog.pg_roles as r where r.rolname = v_role) then
            execute format('create role %I nologin', v_role);
        elsif exists (
            select from pg_catalog.pg_roles as r
            where r.rolname = v_role
              and (r.rolcanlogin or r.rolsuper or r.rolbypassrls or r.rolcreaterole or r.rolcreatedb
                   or r.rolreplication)
        ) then
            raise exception 'role "%" exists and can do more than a group may', v_role
                using detail = 'A Fencepost group is NOLOGIN and has no attribute of its own.',
                      hint   = 'Rename that role, or take LOGIN and its attributes from it.';
        end if;
    end loop;
end
$do$;

-- The deployer makes every object as fencepost_owner. On 15 CREATEROLE may grant it to itself;
-- from 16 on it needs ADMIN OPTION, which the role's creator has and a second deployer has not.
do $do$
begin
    if exists (
        select from pg_catalog.pg_roles as r
        where r.rolname = current_user and (r.rolsuper or r.rolname = 'fencepost_owner')
    ) then
        return;
    end if;
    if current_setting('server_version_num')::integer < 160000 then
        if not pg_has_role(current_user, 'fencepost_owner', 'member') then
            execute format('grant fencepost_owner to %I', current_user);
        end if;
    elsif not pg_has_role(current_user, 'fencepost_owner', 'set') then
        execute format('grant fencepost_owner to %I with inherit false, set true', current_user);
    end if;
exception
    when insufficient_privilege then
        raise exception 'role "%" may not become fencepost_owner', current_user
            using errcode = 'insufficient_privilege',
                  detail  = 'The deployer makes every object as fencepost_owner.',
                  hint    = case
                      when current_setting('server_version_num')::integer < 160000
                          then 'Deploy as a role with CREATEROLE.'
                      else format('From PostgreSQL 16 on a second deployer needs ADMIN OPTION '
                                  'from the first, who runs: '
                                  'grant fencepost_owner to %I with admin option', current_user)
                  end;
end
$do$;

commit;
