-- Severity: critical
-- Title: The database belongs to a client
-- Why: The owner of a database grants CONNECT, CREATE and TEMP on it, and sets what sessions
--   begin with.
-- Source: PostgreSQL, ALTER DATABASE
-- Needs: nothing
select distinct format('database %I', d.datname) as object,
       format('it belongs to %s, a member of %s', o.rolname, m.of_group) as found,
       format('alter database %I owner to %I', d.datname, s.rolname) as remedy
from pg_catalog.pg_database as d
join pg_catalog.pg_roles as o on o.oid = d.datdba
join pg_catalog.pg_roles as s on s.oid = 10
join (
    select w.member, w."group", w.inherits, w.sets
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, inherits boolean, sets boolean)
    union all
    select e.name::name, e.name::name, true, true
    from jsonb_array_elements_text(
        current_setting('audit.expected')::jsonb -> 'roles'
    ) as e (name)
) as m (member, of_group, inherits, sets)
    on m.member = o.rolname and (m.inherits or m.sets)
where d.datname = current_database()
  and (m.of_group <> 'fencepost_owner' or o.rolname = 'fencepost_owner')
