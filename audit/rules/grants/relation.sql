-- Severity: critical
-- Title: A role has a privilege on a table, view or sequence that is not for it
-- Why: Functions are the only way to write the ledger, and the views of `audit` the only way to
--   read it.
-- Source: docs/reference/privileges.md; OWASP Developer Guide, Secure Database Access
-- Needs: nothing
select r.name as object,
       format('%s has %s', g.held[1], g.held[2]) as found,
       format('revoke %s on %s %s from %s cascade', lower(g.held[2]),
              case r.facts ->> 'kind' when 'S' then 'sequence' else 'table' end, r.name,
              case g.held[1] when 'public' then 'public' else quote_ident(g.held[1]) end) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_array_elements_text(r.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) ([A-Z]+)( with grant option)?$') as g (held)
where not coalesce(
    (select current_setting('audit.expected')::jsonb) #> array['relations', r.name, 'privileges']
        ? concat_ws(' ', g.held[1], g.held[2]),
    false
)
