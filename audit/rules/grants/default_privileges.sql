-- Severity: high
-- Title: What the owner, or who deploys, makes next is open to others
-- Why: Without these defaults EXECUTE on every new function, and USAGE on every new type, is
--   PUBLIC's from the moment it is made. A revocation IN SCHEMA takes nothing away from a
--   default.
-- Source: PostgreSQL, ALTER DEFAULT PRIVILEGES; deploy/foundation/schemas.sql
-- Needs: nothing
select 'fencepost_owner' as object,
       format('new %s are open to PUBLIC', d.kind) as found,
       format('alter default privileges for role fencepost_owner revoke %s on %s from public',
              d.privilege, d.kind) as remedy
from (values ('f', 'functions', 'execute'), ('T', 'types', 'usage')) as d (code, kind, privilege)
where not exists (
    select from pg_catalog.pg_default_acl as a
    join pg_catalog.pg_roles as r on r.oid = a.defaclrole
    where r.rolname = 'fencepost_owner' and a.defaclnamespace = 0
      and a.defaclobjtype::text = d.code
      and not exists (select from pg_catalog.aclexplode(a.defaclacl) as x where x.grantee = 0)
)
union all
select o.rolname,
       format('new %s%s are granted to %s', k.kind, ' in schema ' || n.nspname,
              coalesce(g.rolname, 'PUBLIC')),
       format('alter default privileges for role %I%s revoke all on %s from %s', o.rolname,
              ' in schema ' || quote_ident(n.nspname), k.kind,
              coalesce(quote_ident(g.rolname), 'public'))
from pg_catalog.pg_default_acl as a
join pg_catalog.pg_roles as o on o.oid = a.defaclrole
left join pg_catalog.pg_namespace as n on n.oid = a.defaclnamespace
cross join pg_catalog.aclexplode(a.defaclacl) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
join (
    values ('r', 'tables'), ('S', 'sequences'), ('f', 'functions'), ('T', 'types'), ('n', 'schemas'),
           ('L', 'large objects')
) as k (code, kind) on k.code = a.defaclobjtype::text
where x.grantee <> o.oid
  and not (x.grantee = 0 and a.defaclnamespace = 0 and k.code in ('f', 'T'))
  and (
      o.rolname = 'fencepost_owner'
      or n.nspname in ('kernel', 'ledger', 'audit')
      -- Elsewhere others may give each other what they like.
      or a.defaclnamespace = 0 and x.grantee = 0
  )
