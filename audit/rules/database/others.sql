-- Severity: low
-- Title: Clients can connect to another database of the server
-- Why: There they make temporary objects, take locks until the server's table of locks is full,
--   and store large objects. Only connections are limited per role.
-- Source: PostgreSQL, "Privileges"; pg_hba.conf can name role and database too
-- Needs: nothing
select format('database %I', d.datname) as object,
       'PUBLIC has CONNECT' as found,
       format('revoke connect, temporary on database %I from public', d.datname) as remedy
from pg_catalog.pg_database as d
cross join pg_catalog.aclexplode(coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))) as a
where d.datname <> current_database() and d.datallowconn
  and a.grantee = 0 and a.privilege_type = 'CONNECT'
