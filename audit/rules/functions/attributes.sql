-- Severity: medium
-- Title: A function has other attributes than it was deployed with
-- Why: Volatility, STRICT, LEAKPROOF and PARALLEL decide whether and when the planner calls it.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select f.name as object,
       format('%s is %s', d.key, f.facts ->> d.key) as found,
       format('alter function %s %s', f.name, case d.key || ' ' || (e.facts ->> d.key)
           when 'volatility v' then 'volatile'
           when 'volatility s' then 'stable'
           when 'volatility i' then 'immutable'
           when 'strict true' then 'strict'
           when 'strict false' then 'called on null input'
           when 'leakproof true' then 'leakproof'
           when 'leakproof false' then 'not leakproof'
           when 'parallel u' then 'parallel unsafe'
           when 'parallel r' then 'parallel restricted'
           when 'parallel s' then 'parallel safe'
       end) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
    on e.name = f.name
cross join unnest(array['volatility', 'strict', 'leakproof', 'parallel']) as d (key)
where f.facts -> d.key <> e.facts -> d.key
