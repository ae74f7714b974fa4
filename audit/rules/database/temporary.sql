-- Severity: medium
-- Title: Clients can make temporary objects
-- Why: A temporary table, type or function is what an attack on a definer function is made of.
--   The pinned search_path stands before it; this is the second lock.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"; a restored database has the
--   default
-- Needs: nothing
select format('database %I', d.datname) as object,
       format('%s has TEMPORARY', coalesce(r.rolname, 'PUBLIC')) as found,
       format('revoke temporary on database %I from %s', d.datname,
              coalesce(quote_ident(r.rolname), 'public')) as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
left join pg_catalog.pg_roles as r on r.oid = a.grantee
where d.datname = current_database() and a.privilege_type = 'TEMPORARY' and a.grantee <> d.datdba
