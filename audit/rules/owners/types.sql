-- Severity: high
-- Title: A type of ours belongs to another role
-- Why: Who owns a type can alter what functions answer with.
-- Source: PostgreSQL, ALTER TYPE
-- Needs: nothing
select t.name as object,
       format('it belongs to %s', t.facts ->> 'owner') as found,
       format('alter type %s owner to fencepost_owner', t.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'types') as t (name, facts)
where t.facts ->> 'owner' <> 'fencepost_owner'
