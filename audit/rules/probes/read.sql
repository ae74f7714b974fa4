-- Severity: critical
-- Title: A group can read a table of the ledger
-- Why: It was tried, as the group: EXPLAIN checks what SELECT would need, and reads nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the group that is tried
select r.name as object,
       g.name as role,
       format('explain select from %s', r.name) as statement,
       format('revoke select on %s from public, %I', r.name, g.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as g (name)
where g.name <> 'fencepost_owner'
  and r.facts ->> 'kind' in ('r', 'p', 'v', 'm', 'f', 'S')
  and not coalesce(
      (select current_setting('audit.expected')::jsonb) #> array['relations', r.name, 'privileges']
          ? (g.name || ' SELECT'),
      false
  )
