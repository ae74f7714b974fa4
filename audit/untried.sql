-- What is neither read nor planned nor made, and why, as {object: reason}. PostgreSQL runs code of
-- whoever owns an object already when it plans a statement on it: an immutable function, an index's
-- expression, a default, the body of a view. In a superuser's session such code is a superuser's,
-- whatever role was set before. So nothing is touched but what is exactly as deployed.
with
kind (name) as (
    values ('functions'), ('relations'), ('types')
),
-- Privileges and owners are what the probes try; they run nothing.
altered (kind, name, reason) as (
    select k.name, f.name,
           case when e.facts is null then 'it was not deployed'
                else 'other than deployed: ' || string_agg(d.key, ', ' order by d.key) end
    from kind as k
    cross join jsonb_each((select current_setting('audit.found')::jsonb) -> k.name)
        as f (name, facts)
    left join lateral (
        select (select current_setting('audit.expected')::jsonb) #> array[k.name, f.name]
    ) as e (facts) on true
    cross join lateral (
        select jsonb_object_keys(f.facts)
        union
        select jsonb_object_keys(e.facts)
    ) as d (key)
    where d.key not in ('owner', 'privileges', 'remade_by')
      and f.facts -> d.key is distinct from e.facts -> d.key
    group by k.name, f.name, e.facts
),
-- What is as deployed may name, in an index, a default, a trigger or as a type, what is not.
resting (name, reason) as (
    select f.name, format('it rests on %s, which is not as deployed', a.name)
    from kind as k
    cross join jsonb_each((select current_setting('audit.found')::jsonb) -> k.name)
        as f (name, facts)
    join altered as a
        on a.kind in ('functions', 'types') and a.name <> f.name
        and strpos(f.facts::text, split_part(a.name, '(', 1)) > 0
),
-- A view is planned together with what it reads.
above (name, reason) as (
    select f.name, 'a relation that it may read is not as deployed'
    from jsonb_each((select current_setting('audit.found')::jsonb) -> 'relations')
        as f (name, facts)
    where f.facts ->> 'kind' = 'v'
      and f.name not in (select a.name from altered as a)
      and exists (select from altered as a where a.kind = 'relations')
),
loose (name, reason) as (
    select f.name, 'it could not be held still'
    from kind as k
    cross join jsonb_object_keys((select current_setting('audit.found')::jsonb) -> k.name)
        as f (name)
    join pg_catalog.pg_roles as r on r.rolname = session_user
    where r.rolsuper and not current_setting('audit.held')::boolean
),
-- Whatever is made is shown to event triggers.
watched (name, reason) as (
    select o.name,
           format('event trigger %I would call %s of %I, who is no superuser',
                  t.evtname, t.evtfoid::regprocedure, r.rolname)
    from pg_catalog.pg_event_trigger as t
    join pg_catalog.pg_proc as p on p.oid = t.evtfoid
    join pg_catalog.pg_roles as r on r.oid = p.proowner
    cross join lateral (
        select format('database %I', current_database())
        union all
        select n.nspname from pg_catalog.pg_namespace as n
    ) as o (name)
    where t.evtenabled <> 'D' and not r.rolsuper
)
select coalesce(jsonb_object_agg(t.name, t.reasons), '{}') as untried
from (
    select u.name, string_agg(u.reason, '; ' order by u.place, u.reason) as reasons
    from (
        select 1 as place, a.name, a.reason from altered as a
        union
        select 3, r.name, r.reason from resting as r
        union
        select 4, v.name, v.reason from above as v
        union
        select 5, l.name, l.reason from loose as l
        union
        select 6, w.name, w.reason from watched as w
    ) as u
    group by u.name
) as t
