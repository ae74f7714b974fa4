-- Severity: high
-- Title: A view is not what was deployed
-- Why: The views of `audit` are all that auditors see, and they show no token.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select r.name as object,
       'its definition or its columns are others' as found,
       format(E'drop view %s;\n%s', r.name, e.facts ->> 'remade_by') as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as e (name, facts)
    on e.name = r.name
where r.facts ->> 'kind' = 'v'
  and (r.facts -> 'definition' <> e.facts -> 'definition'
       or r.facts -> 'columns' <> e.facts -> 'columns')
