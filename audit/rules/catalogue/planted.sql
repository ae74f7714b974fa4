-- Severity: critical
-- Title: pg_catalog holds what neither PostgreSQL nor an extension brought
-- Why: It comes first in every search_path, the kernel's functions' too: what fits a name and the
--   types better than PostgreSQL's own is taken in its place, and runs with the owner's rights.
-- Source: PostgreSQL, "The System Catalog Schema", "Function Type Resolution"
-- Needs: nothing
select o.object,
       format('it belongs to %s', r.rolname) as found,
       'drop ' || o.object as remedy
from (
    select 'routine ' || p.oid::regprocedure, 'pg_catalog.pg_proc'::regclass, p.oid, p.pronamespace,
           p.proowner
    from pg_catalog.pg_proc as p
    union all
    select format('operator pg_catalog.%s (%s, %s)', p.oprname,
                  coalesce(format_type(nullif(p.oprleft, 0), null), 'none'),
                  format_type(p.oprright, null)),
           'pg_catalog.pg_operator'::regclass, p.oid, p.oprnamespace, p.oprowner
    from pg_catalog.pg_operator as p
    union all
    select 'type ' || t.oid::regtype, 'pg_catalog.pg_type'::regclass, t.oid, t.typnamespace,
           t.typowner
    from pg_catalog.pg_type as t
    where t.typrelid = 0 and t.typelem = 0
    union all
    select format('%s %s', case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
                                when 'S' then 'sequence' when 'c' then 'type' else 'table' end,
                  c.oid::regclass),
           'pg_catalog.pg_class'::regclass, c.oid, c.relnamespace, c.relowner
    from pg_catalog.pg_class as c
    where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S', 'c')
    union all
    select format('collation pg_catalog.%I', c.collname), 'pg_catalog.pg_collation'::regclass,
           c.oid, c.collnamespace, c.collowner
    from pg_catalog.pg_collation as c
    -- pg_import_system_collations brings those that the machine has.
    where c.collprovider <> 'c'
    union all
    select format('conversion pg_catalog.%I', c.conname), 'pg_catalog.pg_conversion'::regclass,
           c.oid, c.connamespace, c.conowner
    from pg_catalog.pg_conversion as c
) as o (object, catalogue, oid, namespace, owner)
join pg_catalog.pg_roles as r on r.oid = o.owner
where o.namespace = 'pg_catalog'::regnamespace
  and o.oid >= 16384  -- PostgreSQL's own are below
  and not exists (
      select from pg_catalog.pg_depend as d
      where d.classid = o.catalogue and d.objid = o.oid and d.deptype = 'e'
  )
