-- Severity: critical
-- Title: A role can become the owner of the ledger
-- Why: The owner can write every table, drop every trigger and change every function.
-- Source: PostgreSQL, "Role Membership"
-- Needs: nothing
select w.member as object,
       format('it is a member of fencepost_owner%s',
              coalesce(' through ' || array_to_string(nullif(w.through, '{}'), ', '), '')) as found,
       format('revoke %I from %I cascade', coalesce(w.through[cardinality(w.through)],
                                                    'fencepost_owner'), w.member) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, through name[], inherits boolean, sets boolean, admin boolean)
join pg_catalog.pg_database as d on d.datname = current_database()
join pg_catalog.pg_roles as o on o.oid = d.datdba
join pg_catalog.pg_roles as r on r.rolname = w.member
where w."group" = 'fencepost_owner'
  and (w.inherits or w.sets or w.admin)
  and w.member <> o.rolname
  and not r.rolsuper
