-- Severity: critical
-- Title: A function in our schemas was not deployed
-- Why: Whoever can make one there can offer it to every client under the kernel's name.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select f.name as object,
       format('it belongs to %s', f.facts ->> 'owner') as found,
       format('drop %s %s',
              case f.facts ->> 'kind' when 'p' then 'procedure' when 'a' then 'aggregate'
                   else 'function' end, f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
where not (select current_setting('audit.expected')::jsonb) -> 'functions' ? f.name
  and not exists (
      select
      from jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'functions') as e (name)
      where split_part(e.name, '(', 1) = split_part(f.name, '(', 1)
  )
