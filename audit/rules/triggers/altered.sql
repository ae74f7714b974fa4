-- Severity: critical
-- Title: A trigger is not what was deployed
-- Why: It calls another function, or fires for less.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', t.name, r.name) as object,
       t.facts ->> 'definition' as found,
       format(E'drop trigger %I on %s;\n%s', t.name, r.name, e.facts ->> 'definition')
           || case e.facts ->> 'enabled' when 'A'
                   then format(E';\nalter table %s enable always trigger %I', r.name, t.name)
                   else '' end as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each(r.facts -> 'triggers') as t (name, facts)
join lateral (
    select (select current_setting('audit.expected')::jsonb)
               #> array['relations', r.name, 'triggers', t.name]
) as e (facts) on true
where t.facts -> 'definition' <> e.facts -> 'definition'
