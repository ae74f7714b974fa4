-- Severity: critical
-- Title: A group has an attribute of its own
-- Why: A group of ours holds EXECUTE on its functions and nothing else; attributes pass every
--   check.
-- Source: PostgreSQL, "Role Attributes"
-- Needs: nothing
select r.rolname as object,
       format('it has %s', a.attribute) as found,
       format('alter role %I no%s', r.rolname, lower(a.attribute)) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
join pg_catalog.pg_roles as r on r.rolname = e.name
cross join lateral (
    values ('SUPERUSER', r.rolsuper), ('CREATEROLE', r.rolcreaterole), ('CREATEDB', r.rolcreatedb),
           ('REPLICATION', r.rolreplication), ('BYPASSRLS', r.rolbypassrls)
) as a (attribute, is_set)
where a.is_set
