-- Severity: medium
-- Title: A function has other settings than it was deployed with
-- Why: A setting on a function changes what its body means, or lets a caller's setting reach it.
-- Source: PostgreSQL, ALTER FUNCTION
-- Needs: nothing
select f.name as object,
       case when f.facts -> 'settings' ? s.setting then 'it has ' else 'it lacks ' end || s.setting
           as found,
       case
           when f.facts -> 'settings' ? s.setting
           then format('alter function %s reset %I', f.name, split_part(s.setting, '=', 1))
           else format('alter function %s set %I = %s', f.name, split_part(s.setting, '=', 1),
                       quote_literal(substr(s.setting, strpos(s.setting, '=') + 1)))
       end as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
    on e.name = f.name
cross join lateral (
    select jsonb_array_elements_text(f.facts -> 'settings')
    union
    select jsonb_array_elements_text(e.facts -> 'settings')
) as s (setting)
where (f.facts -> 'settings' ? s.setting) <> (e.facts -> 'settings' ? s.setting)
  and s.setting not like 'search\_path=%'
