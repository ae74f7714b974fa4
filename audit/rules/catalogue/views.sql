-- Severity: low
-- Title: Clients can watch the other sessions
-- Why: Who is connected, since when, and what it waits for and holds; of its own role also the
--   query.
-- Source: PostgreSQL, "The Cumulative Statistics System", pg_locks
-- Needs: nothing
select format('pg_catalog.%I', c.relname) as object,
       'PUBLIC has SELECT' as found,
       format('revoke select on pg_catalog.%I from public', c.relname) as remedy
from pg_catalog.pg_class as c
cross join pg_catalog.aclexplode(c.relacl) as a
where c.relnamespace = 'pg_catalog'::regnamespace
  and c.relname in ('pg_stat_activity', 'pg_locks')
  and a.grantee = 0 and a.privilege_type = 'SELECT'
