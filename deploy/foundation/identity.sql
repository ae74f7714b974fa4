-- Deploy fencepost:foundation/identity to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.session_oid()
    returns oid
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select r.oid from pg_catalog.pg_roles as r where r.rolname = session_user;
$fn$;

comment on function ledger.session_oid() is
$doc$The OID of the session's LOGIN role. Name and OID together are the principal: a role that was
dropped and made again under its old name has another OID, and nothing else.$doc$;

create or replace function ledger.is_member(p_role oid, p_group text)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- pg_auth_members.inherit_option exists from 16 on; through jsonb one body serves both.
    -- Not pg_has_role: it is true for every superuser.
    select exists (
        select
        from pg_catalog.pg_auth_members as m
        join pg_catalog.pg_roles as g on g.oid = m.roleid
        join pg_catalog.pg_roles as r on r.oid = m.member
        where r.oid = p_role
          and g.rolname = p_group
          and coalesce((pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit)
    );
$fn$;

comment on function ledger.is_member(oid, text) is
$doc$Whether role p_role is a direct, inheriting member of the group p_group.$doc$;

create or replace function ledger.session_is(p_duty text)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.is_member(ledger.session_oid(), 'fencepost_' || p_duty);
$fn$;

comment on function ledger.session_is(text) is
$doc$Whether the session's principal is a direct, inheriting member of fencepost_<p_duty>.$doc$;

commit;
