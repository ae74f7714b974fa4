-- Severity: medium
-- Title: A group has lost a schema
-- Why: Its members are denied everything they are for.
-- Source: docs/reference/privileges.md
-- Needs: nothing
select e.name as object,
       format('%s lacks %s', g.held[1], g.held[2]) as found,
       format('grant %s on schema %I to %I', lower(g.held[2]), e.name, g.held[1]) as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'schemas') as e (name, facts)
join jsonb_each(current_setting('audit.found')::jsonb -> 'schemas') as s (name, facts)
    on s.name = e.name
cross join jsonb_array_elements_text(e.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) (USAGE|CREATE)') as g (held)
where not exists (
    select from jsonb_array_elements_text(s.facts -> 'privileges') as p (privilege)
    where p.privilege in (h.privilege, h.privilege || ' with grant option')
)
