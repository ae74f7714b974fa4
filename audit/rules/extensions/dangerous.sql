-- Severity: high
-- Title: Clients can call an extension that leaves the database
-- Why: dblink and its like connect to anywhere, as the server, and back to here; others run
--   programs or read its files.
-- Source: PostgreSQL, dblink; DISA STIG for PostgreSQL 16, elevated modules only where necessary
-- Needs: nothing
select x.extname as object,
       format('in schema %s, callable by %s', n.nspname, string_agg(distinct g.name, ', '))
           as found,
       format('drop extension %I', x.extname) as remedy
from pg_catalog.pg_extension as x
join pg_catalog.pg_namespace as n on n.oid = x.extnamespace
join pg_catalog.pg_depend as d
    on d.refclassid = 'pg_catalog.pg_extension'::regclass and d.refobjid = x.oid
    and d.classid = 'pg_catalog.pg_proc'::regclass
join pg_catalog.pg_proc as p on p.oid = d.objid
join jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as g (name)
    on g.name <> 'fencepost_owner'
join pg_catalog.pg_roles as r on r.rolname = g.name
where x.extname in (
      'dblink', 'postgres_fdw', 'file_fdw', 'adminpack', 'pg_background', 'pg_cron', 'pg_net',
      'http', 'pgsql_http', 'plsh', 'xml2', 'lo', 'pageinspect', 'pg_surgery', 'pg_walinspect',
      'pg_visibility', 'pg_freespacemap', 'pgrowlocks', 'pg_logicalinspect'
  )
  and has_function_privilege(r.oid, p.oid, 'execute')
  and has_schema_privilege(r.oid, p.pronamespace, 'usage')
group by x.extname, n.nspname
