-- Severity: high
-- Title: A role may give membership in a group of ours away
-- Why: ADMIN OPTION makes principals, and two duties for one of them, without a DBA.
-- Source: PostgreSQL, GRANT
-- Needs: nothing
select w.member as object,
       format('it has ADMIN OPTION on %s', w."group") as found,
       format('revoke admin option for %I from %I cascade', w."group", w.member) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, through name[], admin boolean)
join pg_catalog.pg_roles as r on r.rolname = w.member
join pg_catalog.pg_database as d on d.datname = current_database()
where w.admin and w.through = '{}' and w."group" <> 'fencepost_owner'
  and not r.rolsuper and r.oid <> d.datdba
  -- From 16 on who makes a role has it; that is roles/createrole.
  and not r.rolcreaterole
