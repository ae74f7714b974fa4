-- Severity: critical
-- Title: A group or a client can read a table of the ledger
-- Why: It was tried, as the role: EXPLAIN checks what SELECT would need, and reads nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the role that is tried
select r.name as object,
       g.name as role,
       g.groups,
       format('explain select from only %s', r.name) as statement,
       format('revoke select on %s from public, %s', r.name, g.grantees) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_to_recordset(current_setting('audit.actors')::jsonb -> 'tried')
    as g (name name, groups jsonb, grantees text)
where r.facts ->> 'kind' in ('r', 'p', 'v', 'm', 'f', 'S')
  and not coalesce(
      (select current_setting('audit.expected')::jsonb) #> array['relations', r.name, 'privileges']
          ?| array(
              select x.name || ' SELECT' from jsonb_array_elements_text(g.groups) as x (name)
          ),
      false
  )
