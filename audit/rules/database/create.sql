-- Severity: high
-- Title: A role beside the owner of the database may create schemas in it
-- Why: In a schema of its own it makes what it likes, and installs trusted extensions.
-- Source: CVE-2023-2454; PostgreSQL, "Privileges"
-- Needs: nothing
select format('database %I', d.datname) as object,
       concat(coalesce(r.rolname, 'PUBLIC'), ' has CREATE', ' from ' || o.rolname) as found,
       -- The owner's REVOKE takes nothing that another gave.
       case when o.oid is null then v.revoke || ' cascade'
            else format(E'set role %I;\n%s;\nreset role', o.rolname, v.revoke) end as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
left join pg_catalog.pg_roles as o on o.oid = a.grantor and a.grantor <> d.datdba
left join pg_catalog.pg_roles as r on r.oid = a.grantee
cross join lateral (
    select format('revoke create on database %I from %s', d.datname,
                  coalesce(quote_ident(r.rolname), 'public'))
) as v (revoke)
where d.datname = current_database() and a.privilege_type = 'CREATE' and a.grantee <> d.datdba
