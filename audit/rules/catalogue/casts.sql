-- Severity: high
-- Title: A cast between types that the kernel uses was planted
-- Why: A cast is found by its types, never by a path: it changes what the kernel's own statements
--   compare and convert, and its function runs in them.
-- Source: PostgreSQL, CREATE CAST
-- Needs: nothing
select format('cast (%s as %s)', s.oid::regtype, t.oid::regtype) as object,
       format('it is made %s, %s',
              case k.castmethod when 'f' then 'by ' || k.castfunc::regprocedure
                                when 'i' then 'by text' else 'by nothing' end,
              case k.castcontext when 'i' then 'implicitly' when 'a' then 'in assignments'
                                 else 'where it is asked for' end) as found,
       format('drop cast (%s as %s)', s.oid::regtype, t.oid::regtype) as remedy
from pg_catalog.pg_cast as k
join pg_catalog.pg_type as s on s.oid = k.castsource
join pg_catalog.pg_namespace as n on n.oid = s.typnamespace
join pg_catalog.pg_type as t on t.oid = k.casttarget
join pg_catalog.pg_namespace as m on m.oid = t.typnamespace
where k.oid >= 16384  -- PostgreSQL's own are below
  and n.nspname in ('pg_catalog', 'kernel', 'ledger', 'audit')
  and m.nspname in ('pg_catalog', 'kernel', 'ledger', 'audit')
  and not exists (
      select from pg_catalog.pg_depend as d
      where d.classid = 'pg_catalog.pg_cast'::regclass and d.objid = k.oid and d.deptype = 'e'
  )
