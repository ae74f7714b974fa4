-- Severity: medium
-- Title: A group or a client can make objects in the ledger's database
-- Why: It was tried, as the role, and undone.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"
-- Transaction: read write
-- Needs: a superuser, or a member of the role that is tried
select s.object,
       g.name as role,
       g.groups,
       s.statement,
       format('%s from public, %s', s.remedy, g.grantees) as remedy
from jsonb_to_recordset(current_setting('audit.actors')::jsonb -> 'tried')
    as g (name name, groups jsonb, grantees text)
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
