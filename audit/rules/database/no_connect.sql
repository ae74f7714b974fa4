-- Severity: medium
-- Title: A group cannot connect to the ledger's database
-- Why: Its members are kept out, unless each was granted CONNECT for itself.
-- Source: PostgreSQL, "Privileges"
-- Needs: nothing
select r.rolname as object,
       format('it lacks CONNECT on database %s', d.datname) as found,
       format('grant connect on database %I to %I', d.datname, r.rolname) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
join pg_catalog.pg_roles as r on r.rolname = e.name and e.name <> 'fencepost_owner'
join pg_catalog.pg_database as d on d.datname = current_database()
where not has_database_privilege(r.oid, d.oid, 'connect')
  and exists (
      select
      from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
          as w (member name, "group" name, inherits boolean)
      join pg_catalog.pg_roles as m on m.rolname = w.member
      where w."group" = e.name and w.inherits
        and not has_database_privilege(m.oid, d.oid, 'connect')
  )
