-- Severity: critical
-- Title: A function runs with other rights than it was deployed with
-- Why: A function for callers needs its owner's rights, and no other function has any use for
--   them.
-- Source: PostgreSQL, CREATE FUNCTION
-- Needs: nothing
select f.name as object,
       case when (f.facts ->> 'definer')::boolean then 'it is SECURITY DEFINER'
            else 'it is SECURITY INVOKER' end as found,
       format('alter function %s security %s', f.name,
              case when (e.facts ->> 'definer')::boolean then 'definer' else 'invoker' end)
           as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
    on e.name = f.name
where f.facts -> 'definer' <> e.facts -> 'definer'
