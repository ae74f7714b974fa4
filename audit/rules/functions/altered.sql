-- Severity: critical
-- Title: A function is not what was deployed
-- Why: Its body, language, arguments or result are others; what the kernel promises is in them.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select f.name as object,
       'other than deployed: ' || string_agg(d.key, ', ' order by d.key) as found,
       case when bool_or(d.key in ('result', 'arguments', 'kind'))
            then format(E'drop function %s;\n', f.name) else '' end
           || (e.facts ->> 'remade_by') as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
    on e.name = f.name
cross join unnest(array['body', 'language', 'arguments', 'result', 'kind']) as d (key)
where f.facts -> d.key <> e.facts -> d.key
group by f.name, e.facts
