-- Severity: critical
-- Title: A definer function takes a pseudo-type
-- Why: For anyelement, "any", record or refcursor the caller's own casts and queries run inside
--   the function, as its owner, under any search_path.
-- Source: PostgreSQL, CREATE CAST: a cast is found by its types, never by a path
-- Needs: nothing
select p.oid::regprocedure::text as object,
       format('owned by %s, it takes %s', r.rolname, string_agg(t.typname, ', ')) as found,
       format('drop function %s', p.oid::regprocedure) as remedy
from pg_catalog.pg_proc as p
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
join pg_catalog.pg_roles as r on r.oid = p.proowner
cross join unnest(p.proargtypes::oid[]) as a (type)
join pg_catalog.pg_type as t
    on t.oid = a.type and (t.typtype = 'p' or t.oid = 'pg_catalog.refcursor'::regtype)
where p.prosecdef
  and (n.nspname in ('kernel', 'ledger', 'audit') or r.rolname = 'fencepost_owner')
group by p.oid, r.rolname
