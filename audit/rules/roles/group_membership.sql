-- Severity: critical
-- Title: A group of ours is a member of another role
-- Why: All its members have what that role has: another duty, the owner's rights, or the
--   server's.
-- Source: PostgreSQL, "Role Membership"
-- Needs: nothing
select r.rolname as object,
       format('it is a member of %s', g.rolname) as found,
       format('revoke %I from %I', g.rolname, r.rolname) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
join pg_catalog.pg_roles as r on r.rolname = e.name
join pg_catalog.pg_auth_members as m on m.member = r.oid
join pg_catalog.pg_roles as g on g.oid = m.roleid
