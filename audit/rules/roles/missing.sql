-- Severity: critical
-- Title: A group of ours is missing
-- Why: What was granted to it is granted to nobody.
-- Source: deploy/foundation/roles.sql
-- Needs: nothing
select e.name as object,
       'there is no such role' as found,
       format('create role %I nologin', e.name) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
where not exists (select from pg_catalog.pg_roles as r where r.rolname = e.name)
