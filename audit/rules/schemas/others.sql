-- Severity: note
-- Title: Clients can look into a schema that is not the ledger's
-- Why: What is there is found by name as soon as something is granted to PUBLIC. In a database of
--   the ledger's own there is nothing to look for.
-- Source: CIS PostgreSQL Benchmark 4.10
-- Needs: nothing
select n.nspname as object,
       'PUBLIC has USAGE' as found,
       format('revoke usage on schema %I from public', n.nspname) as remedy
from pg_catalog.pg_namespace as n
cross join pg_catalog.aclexplode(n.nspacl) as a
where a.privilege_type = 'USAGE' and a.grantee = 0
  and n.nspname not in ('kernel', 'ledger', 'audit', 'pg_catalog', 'information_schema')
