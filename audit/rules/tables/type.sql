-- Severity: high
-- Title: A composite type is missing, was altered or was not deployed
-- Why: Functions answer with it, and clients read it by name.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select t.name as object,
       case when f.facts is null then 'there is no such type'
            when e.facts is null then 'it was not deployed'
            else format('its fields are %s', f.facts -> 'columns') end as found,
       coalesce(
           case when e.facts is null then format('drop type %s', t.name) end,
           (
               select string_agg(
                   case
                       when x.said is null
                       then format('alter type %s drop attribute %I', t.name, c.name)
                       when y.said is null
                       then format('alter type %s add attribute %I %s', t.name, c.name, x.said)
                       else format('alter type %s alter attribute %I type %s', t.name, c.name,
                                   x.said)
                   end, E';\n')
               from (
                   select jsonb_object_keys(e.facts -> 'columns')
                   union
                   select jsonb_object_keys(f.facts -> 'columns')
               ) as c (name)
               cross join lateral (select e.facts -> 'columns' ->> c.name) as x (said)
               cross join lateral (select f.facts -> 'columns' ->> c.name) as y (said)
               where x.said is distinct from y.said and f.facts is not null
           ),
           '-- Deploy again from the change that makes it: its functions went with it.'
       ) as remedy
from (
    select jsonb_object_keys((select current_setting('audit.expected')::jsonb) -> 'types')
    union
    select jsonb_object_keys((select current_setting('audit.found')::jsonb) -> 'types')
) as t (name)
cross join lateral (
    select (select current_setting('audit.expected')::jsonb) #> array['types', t.name]
) as e (facts)
cross join lateral (
    select (select current_setting('audit.found')::jsonb) #> array['types', t.name]
) as f (facts)
where (e.facts -> 'columns') is distinct from (f.facts -> 'columns')
   or (e.facts is null) <> (f.facts is null)
