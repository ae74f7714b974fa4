-- Severity: low
-- Title: A table has a constraint that was not deployed
-- Why: It may refuse what the kernel has to write.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', f.name, r.name) as object,
       f.said as found,
       format('alter table %s drop constraint %I', r.name, f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each_text(r.facts -> 'constraints') as f (name, said)
where (select current_setting('audit.expected')::jsonb) -> 'relations' ? r.name
  and not coalesce(
      (select current_setting('audit.expected')::jsonb)
          #> array['relations', r.name, 'constraints'] ? f.name,
      false
  )
