-- Severity: critical
-- Title: A function has a second signature
-- Why: An overload catches calls that were meant for the function, and one that a migration left
--   behind has none of its successor's checks.
-- Source: PostgreSQL, "Function Overloading"; the rule one definer to a name
-- Needs: nothing
select f.name as object,
       format('beside %s', string_agg(e.name, ', ' order by e.name)) as found,
       format('drop %s %s',
              case f.facts ->> 'kind' when 'p' then 'procedure' when 'a' then 'aggregate'
                   else 'function' end, f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'functions') as e (name)
    on split_part(e.name, '(', 1) = split_part(f.name, '(', 1)
where not (select current_setting('audit.expected')::jsonb) -> 'functions' ? f.name
group by f.name, f.facts
