-- Severity: high
-- Title: A column is not what was deployed
-- Why: Its type, default or NOT NULL is part of what the kernel's functions rely on.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s.%I', r.name, c.name) as object,
       coalesce('it is ' || f.said, 'there is no such column') as found,
       case
           when e.said is null then format('alter table %s drop column %I', r.name, c.name)
           when f.said is null
           then format('alter table %s add column %I %s', r.name, c.name, e.said)
           else concat_ws(E';\n',
               case when split_part(e.said, ' default ', 1) ~ 'not null' and f.said !~ 'not null'
                    then format('alter table %s alter column %I set not null', r.name, c.name) end,
               case when e.said !~ 'not null' and f.said ~ 'not null'
                    then format('alter table %s alter column %I drop not null', r.name, c.name) end,
               case when nullif(split_part(e.said, ' default ', 2), '')
                             is distinct from nullif(split_part(f.said, ' default ', 2), '')
                    then format('alter table %s alter column %I %s', r.name, c.name,
                                coalesce(
                                    'set default '
                                        || nullif(split_part(e.said, ' default ', 2), ''),
                                    'drop default'
                                )) end,
               case when regexp_replace(e.said, ' (not null|default|generated).*', '')
                             <> regexp_replace(f.said, ' (not null|default|generated).*', '')
                    then format('alter table %s alter column %I type %s', r.name, c.name,
                                regexp_replace(e.said, ' (not null|default|generated).*', '')) end
           )
       end as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as r (name, facts)
join jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as g (name, facts)
    on g.name = r.name
cross join lateral (
    select jsonb_object_keys(r.facts -> 'columns')
    union
    select jsonb_object_keys(g.facts -> 'columns')
) as c (name)
cross join lateral (select r.facts -> 'columns' ->> c.name) as e (said)
cross join lateral (select g.facts -> 'columns' ->> c.name) as f (said)
where r.facts ->> 'kind' = 'r' and e.said is distinct from f.said
