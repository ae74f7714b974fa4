-- Severity: high
-- Title: A table of ours is UNLOGGED, or has other options than it was deployed with
-- Why: An unlogged table is empty after a crash. Options hold vacuum off or let a view leak.
-- Source: PostgreSQL, CREATE TABLE, CREATE VIEW
-- Needs: nothing
select r.name as object,
       case when r.facts -> 'persistence' <> e.facts -> 'persistence' then 'it is UNLOGGED'
            else format('its options are %s', r.facts -> 'options') end as found,
       concat_ws(E';\n',
           case when r.facts -> 'persistence' <> e.facts -> 'persistence'
                then format('alter table %s set logged', r.name) end,
           (
               select format('alter %s %s reset (%s)', k.kind, r.name,
                             string_agg(split_part(o.option, '=', 1), ', '))
               from jsonb_array_elements_text(r.facts -> 'options') as o (option)
               where not e.facts -> 'options' ? o.option
               having count(*) > 0
           ),
           (
               select format('alter %s %s set (%s)', k.kind, r.name, string_agg(o.option, ', '))
               from jsonb_array_elements_text(e.facts -> 'options') as o (option)
               where not r.facts -> 'options' ? o.option
               having count(*) > 0
           )
       ) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as e (name, facts)
    on e.name = r.name
cross join lateral (
    select case r.facts ->> 'kind' when 'v' then 'view' else 'table' end
) as k (kind)
where r.facts -> 'persistence' <> e.facts -> 'persistence'
   or r.facts -> 'options' <> e.facts -> 'options'
