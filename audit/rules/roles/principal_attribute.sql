-- Severity: critical
-- Title: A client's role has an attribute that passes the boundary
-- Why: SUPERUSER, CREATEROLE, REPLICATION and BYPASSRLS each read or write past the functions, or
--   make a role that does.
-- Source: PostgreSQL, "Role Attributes"; CIS PostgreSQL Benchmark 4.3, 4.7
-- Needs: nothing
select r.rolname as object,
       format('a member of %s, it has %s', m.of_groups, a.attribute) as found,
       format('alter role %I no%s', r.rolname, lower(a.attribute)) as remedy
from (
    select w.member, string_agg(distinct w."group", ', ') as of_groups
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, inherits boolean, sets boolean)
    where w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
    group by w.member
) as m
join pg_catalog.pg_roles as r on r.rolname = m.member
cross join lateral (
    values ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
           ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)
) as a (attribute, is_set)
where a.is_set
