-- Severity: critical
-- Title: A function of ours belongs to another role
-- Why: A definer function has the rights of its owner; another's are more, or none on the ledger.
-- Source: PostgreSQL, CREATE FUNCTION
-- Needs: nothing
select f.name as object,
       format('it belongs to %s', f.facts ->> 'owner') as found,
       format('alter routine %s owner to fencepost_owner', f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
where f.facts ->> 'owner' <> 'fencepost_owner'
  and (select current_setting('audit.expected')::jsonb) -> 'functions' ? f.name
