-- Severity: medium
-- Title: Clients can call somebody else's definer function
-- Why: It runs with its owner's rights. Written with less care than ours, it is the way around
--   them.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"
-- Needs: nothing
select p.oid::regprocedure::text as object,
       format('owned by %s%s, callable by %s', o.rolname,
              case when o.rolsuper then ', a superuser' else '' end,
              string_agg(g.name, ', ' order by g.name)) as found,
       format('revoke execute on function %s from public%s', p.oid::regprocedure,
              string_agg(format(', %I', g.name), '' order by g.name)
                  filter (where g.is_granted)) as remedy
from pg_catalog.pg_proc as p
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
join pg_catalog.pg_roles as o on o.oid = p.proowner
cross join lateral (
    select e.name,
           exists (
               select from pg_catalog.aclexplode(p.proacl) as a
               join pg_catalog.pg_roles as r on r.oid = a.grantee
               where r.rolname = e.name
           ) as is_granted
    from jsonb_array_elements_text(
        current_setting('audit.expected')::jsonb -> 'roles'
    ) as e (name)
    join pg_catalog.pg_roles as r on r.rolname = e.name
    where e.name <> 'fencepost_owner'
      and has_function_privilege(r.oid, p.oid, 'execute')
      and has_schema_privilege(r.oid, n.oid, 'usage')
) as g
where p.prosecdef
  and n.nspname not in ('kernel', 'ledger', 'audit', 'pg_catalog', 'information_schema')
  and p.prorettype not in ('pg_catalog.trigger'::regtype, 'pg_catalog.event_trigger'::regtype)
  -- The watchdog's is known, as long as it is as deployed.
  and not exists (
      select
      from jsonb_each(current_setting('audit.found')::jsonb -> 'superuser') as f (object, facts)
      where f.object = format('function %I.%I(%s)', n.nspname, p.proname,
                              pg_catalog.pg_get_function_identity_arguments(p.oid))
        and f.facts = current_setting('audit.expected')::jsonb -> 'superuser' -> f.object
  )
group by p.oid, o.rolname, o.rolsuper
