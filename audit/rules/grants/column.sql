-- Severity: critical
-- Title: A role has a privilege on a column
-- Why: It does not show in the table's own privileges, and reads or writes past the functions as
--   well.
-- Source: PostgreSQL, GRANT
-- Needs: nothing
select format('%s.%I', c.oid::regclass, a.attname) as object,
       format('%s has %s', coalesce(r.rolname, 'PUBLIC'), x.privilege_type) as found,
       format('revoke %s (%I) on %s from %s cascade', lower(x.privilege_type), a.attname,
              c.oid::regclass, coalesce(quote_ident(r.rolname), 'public')) as remedy
from pg_catalog.pg_attribute as a
join pg_catalog.pg_class as c on c.oid = a.attrelid
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
cross join pg_catalog.aclexplode(a.attacl) as x
left join pg_catalog.pg_roles as r on r.oid = x.grantee
where n.nspname in ('kernel', 'ledger', 'audit') and x.grantee <> c.relowner
