-- Deploy fencepost_superuser:foundation/schema to pg
--
-- What the changes of this plan take from PUBLIC and give to roles is kept as the statements that
-- undo it, so that a revert restores what was found and no more.

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
begin
    if not (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = current_user) then
        raise exception '% is no superuser', current_user
            using errcode = 'insufficient_privilege',
                  hint    = 'Deploy this plan as a superuser, and the kernel''s as its deployer.';
    end if;
    -- What the deployer may have put in the table's place runs as who reads it. Until the commit no
    -- schema is renamed, and the table stays what it is found to be.
    lock table pg_catalog.pg_namespace in share mode;
    if to_regclass('ledger.footing') is null then
        raise exception 'database "%" has no kernel', current_database()
            using hint = 'Deploy the kernel''s plan first.';
    end if;
    lock table only ledger.footing in access share mode;
    if not exists (
        select from pg_catalog.pg_class as c
        join pg_catalog.pg_attribute as a on a.attrelid = c.oid and a.attname = 'footing'
        where c.oid = 'ledger.footing'::regclass and c.relkind = 'r'
          and a.atttypid = 'text'::regtype
    ) then
        raise exception 'ledger.footing is not the table that the kernel has'
            using detail = 'What stands there was not read: what it calls would run as you.',
                  hint   = 'See who may become fencepost_owner, and deploy the kernel anew.';
    end if;
    if (select f.footing from only ledger.footing as f) <> 'dedicated' then
        raise exception 'database "%" is shared', current_database()
            using detail = 'What this plan takes, it takes from every role that uses the database.',
                  hint   = 'Give the ledger a database of its own.';
    end if;
end
$do$;

create schema fencepost_superuser;

comment on schema fencepost_superuser is
    'Superusers only: what the plan of that name took and gave, and how it is restored.';

create table fencepost_superuser.restoration (
    restoration_id bigint generated always as identity,
    change         text not null,
    statement      text not null,

    constraint restoration_pk primary key (restoration_id)
);

comment on table fencepost_superuser.restoration is
    'What a revert of a change runs, in any order.';

create function fencepost_superuser.take(
    p_change    text,
    p_privilege text,
    p_object    text,
    p_acl       aclitem []
)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if exists (
        select from aclexplode(p_acl) as a
        where a.grantee = 0 and lower(a.privilege_type) = p_privilege
    ) then
        execute format('revoke %s on %s from public', p_privilege, p_object);
        insert into fencepost_superuser.restoration (change, statement)
        values (p_change, format('grant %s on %s to public', p_privilege, p_object));
    end if;
end
$fn$;

comment on function fencepost_superuser.take(text, text, text, aclitem[]) is
$doc$Takes a privilege on an object from PUBLIC, if p_acl says that PUBLIC has it.

Parameters
    p_change     who takes it
    p_privilege  as in GRANT, in lower case
    p_object     as in GRANT: its kind and its name
    p_acl        the object's privileges as they are; never null

Writes
    fencepost_superuser.restoration$doc$;

create function fencepost_superuser.give(
    p_change    text,
    p_privilege text,
    p_object    text,
    p_acl       aclitem [],
    p_role      text
)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not exists (
        select from aclexplode(p_acl) as a
        where a.grantee = p_role::regrole and lower(a.privilege_type) = p_privilege
    ) then
        execute format('grant %s on %s to %I', p_privilege, p_object, p_role);
        insert into fencepost_superuser.restoration (change, statement)
        values (p_change, format('revoke %s on %s from %I', p_privilege, p_object, p_role));
    end if;
end
$fn$;

comment on function fencepost_superuser.give(text, text, text, aclitem[], text) is
$doc$Gives a privilege on an object to a role, if p_acl does not say that it has it.

Parameters
    p_change     who gives it
    p_privilege  as in GRANT, in lower case
    p_object     as in GRANT: its kind and its name
    p_acl        the object's privileges as they are; never null
    p_role       to whom

Writes
    fencepost_superuser.restoration$doc$;

create function fencepost_superuser.restore(p_change text)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_restoration fencepost_superuser.restoration;
begin
    for v_restoration in
        delete from fencepost_superuser.restoration as r
        where r.change = p_change
        returning r.*
    loop
        execute v_restoration.statement;
    end loop;
end
$fn$;

comment on function fencepost_superuser.restore(text) is
$doc$Undoes what a change took and gave.

Parameters
    p_change  whose

Writes
    fencepost_superuser.restoration$doc$;

revoke execute on all functions in schema fencepost_superuser from public;

commit;
