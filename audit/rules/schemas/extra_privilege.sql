-- Severity: critical
-- Title: A role has a privilege on a schema of ours that is not for it
-- Why: CREATE lets it put its own objects among ours. USAGE on the private one is enough to take
--   locks on the tables by PREPARE, with no privilege on any.
-- Source: PostgreSQL, "Schemas and Privileges"; CVE-2018-1058
-- Needs: nothing
select s.name as object,
       format('%s has %s', g.held[1], g.held[2]) as found,
       format('revoke %s on schema %I from %s cascade', lower(g.held[2]), s.name,
              case g.held[1] when 'public' then 'public' else quote_ident(g.held[1]) end) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'schemas') as s (name, facts)
cross join jsonb_array_elements_text(s.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) (USAGE|CREATE)') as g (held)
where not coalesce(
    (select current_setting('audit.expected')::jsonb) #> array['schemas', s.name, 'privileges']
        ? array_to_string(g.held, ' '),
    false
)
