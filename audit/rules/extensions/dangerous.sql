-- Severity: high
-- Title: Clients can call an extension that leaves the database
-- Why: dblink and its like connect to anywhere, as the server, and back to here; others run
--   programs or read its files.
-- Source: PostgreSQL, dblink; DISA STIG for PostgreSQL 16, elevated modules only where necessary
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
)
select e.extname as object,
       format('in schema %s, callable by %s', n.nspname,
              string_agg(distinct coalesce(g.rolname, 'PUBLIC'), ', ')) as found,
       format('drop extension %I', e.extname) as remedy
from pg_catalog.pg_extension as e
join pg_catalog.pg_namespace as n on n.oid = e.extnamespace
join pg_catalog.pg_depend as d
    on d.refclassid = 'pg_catalog.pg_extension'::regclass and d.refobjid = e.oid
    and d.classid = 'pg_catalog.pg_proc'::regclass
join pg_catalog.pg_proc as p on p.oid = d.objid
cross join pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where e.extname in (
      'dblink', 'postgres_fdw', 'file_fdw', 'adminpack', 'pg_background', 'pg_cron', 'pg_net',
      'http', 'pgsql_http', 'plsh', 'xml2', 'lo', 'pageinspect', 'pg_surgery', 'pg_walinspect',
      'pg_visibility', 'pg_freespacemap', 'pgrowlocks', 'pg_logicalinspect'
  )
  and exists (
      select from client as c
      where (x.grantee = 0 or pg_has_role(c.oid, x.grantee, 'member'))
        and has_schema_privilege(c.oid, p.pronamespace, 'usage')
  )
group by e.extname, n.nspname
