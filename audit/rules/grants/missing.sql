-- Severity: medium
-- Title: A group has lost a view
-- Why: Auditors do not see what they are for.
-- Source: docs/reference/privileges.md
-- Needs: nothing
select e.name as object,
       format('%s lacks %s', g.held[1], g.held[2]) as found,
       format('grant %s on %s to %I', lower(g.held[2]), e.name, g.held[1]) as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as e (name, facts)
join jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
    on r.name = e.name
cross join jsonb_array_elements_text(e.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) ([A-Z]+)') as g (held)
where not exists (
    select from jsonb_array_elements_text(r.facts -> 'privileges') as p (privilege)
    where p.privilege in (h.privilege, h.privilege || ' with grant option')
)
