-- Severity: low
-- Title: A role may use a type of ours
-- Why: It can build a column of its own on the type, and then the type cannot be dropped or
--   changed.
-- Source: PostgreSQL, "Privileges"; CVE-2026-6470
-- Needs: nothing
select t.name as object,
       format('%s has USAGE', g.held[1]) as found,
       format('revoke usage on type %s from %s cascade', t.name,
              case g.held[1] when 'public' then 'public' else quote_ident(g.held[1]) end) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'types') as t (name, facts)
cross join jsonb_array_elements_text(t.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) (USAGE)') as g (held)
where not coalesce(
    (select current_setting('audit.expected')::jsonb) #> array['types', t.name, 'privileges']
        ? array_to_string(g.held, ' '),
    false
)
