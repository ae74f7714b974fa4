-- Severity: medium
-- Title: Every role on the server may connect to the ledger's database
-- Why: Who is in can hold locks, read the catalogue, ring the doorbell and use whatever PUBLIC
--   may. A database that is shared with others stands on this weaker footing.
-- Source: PostgreSQL, "Privileges"; CONNECT for PUBLIC is a new database's default, and a
--   restored one's
-- Needs: nothing
select format('database %I', d.datname) as object,
       'PUBLIC has CONNECT' as found,
       format(E'grant connect on database %1$I to %2$s;\n'
                  'revoke connect on database %1$I from public', d.datname, e.groups) as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
cross join lateral (
    select string_agg(quote_ident(g.name), ', ' order by g.name)
    from jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as g (name)
    where g.name <> 'fencepost_owner'
) as e (groups)
where d.datname = current_database() and a.grantee = 0 and a.privilege_type = 'CONNECT'
