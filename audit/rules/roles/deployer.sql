-- Severity: low
-- Title: The deployer can become the owner of the ledger
-- Why: It has to while it deploys. In between, its password is worth as much as the owner's would
--   be.
-- Source: docs/howto/deploy-with-sqitch.md
-- Needs: nothing
select o.rolname as object,
       format('the owner of the database is a member of fencepost_owner%s',
              case when bool_or(w.inherits or w.sets) then '' else ', with ADMIN OPTION only' end)
           as found,
       format('alter role %I nologin', o.rolname) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, inherits boolean, sets boolean, admin boolean)
join pg_catalog.pg_database as d on d.datname = current_database()
join pg_catalog.pg_roles as o on o.oid = d.datdba and o.rolname = w.member
where w."group" = 'fencepost_owner' and o.rolcanlogin and not o.rolsuper
group by o.rolname
