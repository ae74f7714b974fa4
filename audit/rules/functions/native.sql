-- Severity: high
-- Title: Clients can call a function of machine code that no extension brought
-- Why: It runs in the server's process, without a check that it does not make itself. A second name
--   for one of PostgreSQL's own is free of the REVOKE on the first.
-- Source: PostgreSQL, "C-Language Functions", CREATE FUNCTION
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
)
select p.oid::regprocedure::text as object,
       format('in language %s it is %s, callable by %s', l.lanname, p.prosrc,
              string_agg(coalesce(g.rolname, 'PUBLIC'), ', ' order by g.rolname)) as found,
       format('revoke execute on routine %s from %s', p.oid::regprocedure,
              string_agg(coalesce(quote_ident(g.rolname), 'public'), ', ' order by g.rolname))
           as remedy
from pg_catalog.pg_proc as p
join pg_catalog.pg_language as l on l.oid = p.prolang and l.lanname in ('c', 'internal')
cross join pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where p.oid >= 16384  -- PostgreSQL's own are below
  and not exists (
      select from pg_catalog.pg_depend as d
      where d.classid = 'pg_catalog.pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e'
  )
  and exists (
      select from client as c
      where (x.grantee = 0 or pg_has_role(c.oid, x.grantee, 'member'))
        and has_schema_privilege(c.oid, p.pronamespace, 'usage')
  )
group by p.oid, l.lanname, p.prosrc
