-- Severity: critical
-- Title: A client is a member of a role that PostgreSQL predefines
-- Why: pg_read_all_data and pg_write_all_data pass every grant, pg_execute_server_program and the
--   file roles the server's account, pg_signal_backend ends the others, pg_monitor reads their
--   queries.
-- Source: PostgreSQL, "Predefined Roles"
-- Needs: nothing
with recursive
client as (
    select distinct w.member as name
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, inherits boolean, sets boolean)
    where w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
),
up (client, role, last) as (
    select c.name, m.roleid, r.oid
    from client as c
    join pg_catalog.pg_roles as r on r.rolname = c.name
    join pg_catalog.pg_auth_members as m on m.member = r.oid
    union
    select u.client, m.roleid, m.member
    from up as u
    join pg_catalog.pg_auth_members as m on m.member = u.role
)
select u.client as object,
       format('it is a member of %s', g.rolname) as found,
       format('revoke %I from %I', g.rolname, l.rolname) as remedy
from up as u
join pg_catalog.pg_roles as g on g.oid = u.role and g.rolname like 'pg\_%'
join pg_catalog.pg_roles as l on l.oid = u.last
