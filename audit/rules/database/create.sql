-- Severity: high
-- Title: A role beside the owner of the database may create schemas in it
-- Why: In a schema of its own it makes what it likes, and installs trusted extensions.
-- Source: CVE-2023-2454; PostgreSQL, "Privileges"
-- Needs: nothing
select format('database %I', d.datname) as object,
       format('%s has CREATE', coalesce(r.rolname, 'PUBLIC')) as found,
       format('revoke create on database %I from %s', d.datname,
              coalesce(quote_ident(r.rolname), 'public')) as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
left join pg_catalog.pg_roles as r on r.oid = a.grantee
where d.datname = current_database() and a.privilege_type = 'CREATE' and a.grantee <> d.datdba
