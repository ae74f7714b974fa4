-- Severity: high
-- Title: A role may set what only superusers set
-- Why: With session_replication_role = replica, triggers that are not ENABLE ALWAYS do not fire;
--   with log_min_messages a denied write leaves no line.
-- Source: PostgreSQL 15, GRANT ... ON PARAMETER
-- Needs: nothing
select p.parname as object,
       format('%s has %s', coalesce(r.rolname, 'PUBLIC'), a.privilege_type) as found,
       format('revoke %s on parameter %s from %s', lower(a.privilege_type), p.parname,
              coalesce(quote_ident(r.rolname), 'public')) as remedy
from pg_catalog.pg_parameter_acl as p
cross join pg_catalog.aclexplode(p.paracl) as a
left join pg_catalog.pg_roles as r on r.oid = a.grantee
where not coalesce(r.rolsuper, false)
