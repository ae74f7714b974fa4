-- Severity: medium
-- Title: Clients can call somebody else's definer function
-- Why: It runs with its owner's rights. Written with less care than ours, it is the way around
--   them.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
)
select p.oid::regprocedure::text as object,
       format('owned by %s%s, callable by %s', o.rolname,
              case when o.rolsuper then ', a superuser' else '' end,
              string_agg(coalesce(g.rolname, 'PUBLIC'), ', ' order by g.rolname)) as found,
       format('revoke execute on routine %s from %s', p.oid::regprocedure,
              string_agg(coalesce(quote_ident(g.rolname), 'public'), ', ' order by g.rolname))
           as remedy
from pg_catalog.pg_proc as p
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
join pg_catalog.pg_roles as o on o.oid = p.proowner
cross join pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where p.prosecdef
  and n.nspname not in ('kernel', 'ledger', 'audit')
  and p.prorettype not in ('pg_catalog.trigger'::regtype, 'pg_catalog.event_trigger'::regtype)
  and x.grantee <> p.proowner
  and exists (
      select from client as c
      where (x.grantee = 0 or pg_has_role(c.oid, x.grantee, 'member'))
        and has_schema_privilege(c.oid, n.oid, 'usage')
  )
  -- The watchdog's is known, as long as it is as deployed.
  and not exists (
      select
      from jsonb_each(current_setting('audit.found')::jsonb -> 'superuser') as f (object, facts)
      where f.object = format('function %I.%I(%s)', n.nspname, p.proname,
                              pg_catalog.pg_get_function_identity_arguments(p.oid))
        and f.facts = current_setting('audit.expected')::jsonb -> 'superuser' -> f.object
  )
group by p.oid, o.rolname, o.rolsuper
