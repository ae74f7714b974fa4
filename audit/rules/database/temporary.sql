-- Severity: medium
-- Title: Clients can make temporary objects
-- Why: A temporary table, type or function is what an attack on a definer function is made of.
--   The pinned search_path stands before it; this is the second lock.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"; a restored database has the
--   default
-- Needs: nothing
select format('database %I', d.datname) as object,
       concat(coalesce(r.rolname, 'PUBLIC'), ' has TEMPORARY', ' from ' || o.rolname) as found,
       -- The owner's REVOKE takes nothing that another gave.
       case when o.oid is null then v.revoke || ' cascade'
            else format(E'set role %I;\n%s;\nreset role', o.rolname, v.revoke) end as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
left join pg_catalog.pg_roles as o on o.oid = a.grantor and a.grantor <> d.datdba
left join pg_catalog.pg_roles as r on r.oid = a.grantee
cross join lateral (
    select format('revoke temporary on database %I from %s', d.datname,
                  coalesce(quote_ident(r.rolname), 'public'))
) as v (revoke)
where d.datname = current_database() and a.privilege_type = 'TEMPORARY' and a.grantee <> d.datdba
