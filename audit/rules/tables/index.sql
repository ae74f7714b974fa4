-- Severity: medium
-- Title: An index is missing or was altered
-- Why: A unique one keeps two open campaigns of a target from each other; the others keep a claim
--   short.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', e.name, r.name) as object,
       coalesce('it is ' || f.said, 'there is no such index') as found,
       case when f.said is null then ''
            else format(E'drop index %s.%I;\n', split_part(r.name, '.', 1), e.name) end || e.said
           as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each_text(r.facts -> 'indexes') as e (name, said)
cross join lateral (
    select (select current_setting('audit.found')::jsonb)
               #>> array['relations', r.name, 'indexes', e.name]
) as f (said)
where (select current_setting('audit.found')::jsonb) -> 'relations' ? r.name
  and f.said is distinct from e.said
