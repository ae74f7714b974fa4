-- Severity: medium
-- Title: A group can make objects in the ledger's database
-- Why: It was tried, as the group, and undone.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"
-- Needs: a superuser, or a member of the group that is tried
select s.object,
       g.name as role,
       s.statement,
       format('%s from public, %I', s.remedy, g.name) as remedy
from jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as g (name)
cross join (
    select format('database %I', current_database()),
           'create temporary table fencepost_probe (probe boolean)',
           format('revoke temporary on database %I', current_database())
    union all
    select format('database %I', current_database()),
           'create schema fencepost_probe',
           format('revoke create on database %I', current_database())
    union all
    select n.nspname,
           format('create table %I.fencepost_probe (probe boolean)', n.nspname),
           format('revoke create on schema %I', n.nspname)
    from pg_catalog.pg_namespace as n
    where n.nspname !~ '^pg_(temp|toast)'
) as s (object, statement, remedy)
where g.name <> 'fencepost_owner'
