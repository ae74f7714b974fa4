-- Severity: medium
-- Title: Every role on the server may connect to the ledger's database
-- Why: Who is in can hold locks, read the catalogue, ring the doorbell and use whatever PUBLIC
--   may. A database that is shared with others stands on this weaker footing.
-- Source: PostgreSQL, "Privileges"; CONNECT for PUBLIC is a new database's default, and a
--   restored one's
-- Needs: nothing
select format('database %I', d.datname) as object,
       concat('PUBLIC has CONNECT', ' from ' || o.rolname) as found,
       -- The owner's REVOKE takes nothing that another gave.
       format(E'grant connect on database %I to %s;\n', d.datname, e.groups)
           || case when o.oid is null then format('revoke connect on database %I from public', d.datname)
                   else format(E'set role %I;\nrevoke connect on database %I from public;\nreset role',
                               o.rolname, d.datname) end as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
left join pg_catalog.pg_roles as o on o.oid = a.grantor and a.grantor <> d.datdba
cross join lateral (
    select string_agg(quote_ident(g.name), ', ' order by g.name)
    from jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as g (name)
    where g.name <> 'fencepost_owner'
) as e (groups)
where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'CONNECT'
