-- Severity: medium
-- Title: Clients can create objects in a schema
-- Why: Most ways into other people's sessions begin with an object of the attacker's own. In a
--   database of the ledger's own nobody needs one.
-- Source: CVE-2018-1058, CVE-2020-25695, CVE-2022-1552; PostgreSQL, "Usage Patterns"
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
)
select n.nspname as object,
       format('%s has CREATE', coalesce(r.rolname, 'PUBLIC')) as found,
       format('revoke create on schema %I from %s', n.nspname,
              coalesce(quote_ident(r.rolname), 'public')) as remedy
from pg_catalog.pg_namespace as n
cross join pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner))) as a
left join pg_catalog.pg_roles as r on r.oid = a.grantee
where a.privilege_type = 'CREATE'
  and n.nspname not in ('kernel', 'ledger', 'audit')
  and (a.grantee = 0 or exists (
      select from client as c where pg_has_role(c.oid, a.grantee, 'member')
  ))
