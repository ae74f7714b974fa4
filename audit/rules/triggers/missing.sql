-- Severity: critical
-- Title: A trigger is missing
-- Why: What it refused is possible for who has the owner's hand, and what it wrote is not
--   written.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', e.name, r.name) as object,
       'there is no such trigger' as found,
       (e.facts ->> 'definition')
           || case e.facts ->> 'enabled' when 'A'
                   then format(E';\nalter table %s enable always trigger %I', r.name, e.name)
                   else '' end as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each(r.facts -> 'triggers') as e (name, facts)
where (select current_setting('audit.found')::jsonb) -> 'relations' ? r.name
  and not coalesce(
      (select current_setting('audit.found')::jsonb)
          #> array['relations', r.name, 'triggers'] ? e.name, false
  )
