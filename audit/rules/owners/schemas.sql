-- Severity: critical
-- Title: A schema of ours belongs to another role
-- Why: Who owns a schema can drop what is in it, and put something else there.
-- Source: PostgreSQL, "Schemas and Privileges"
-- Needs: nothing
select s.name as object,
       format('it belongs to %s', s.facts ->> 'owner') as found,
       format('alter schema %I owner to fencepost_owner', s.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'schemas') as s (name, facts)
where s.facts ->> 'owner' <> 'fencepost_owner'
