-- Severity: medium
-- Title: A role that is not the deployer can make principals
-- Why: On 15 CREATEROLE grants itself every group, the owner and pg_execute_server_program
--   included; from 16 on what it has ADMIN OPTION on.
-- Source: PostgreSQL 16, release notes; CREATE ROLE
-- Needs: nothing
select r.rolname as object,
       'it has CREATEROLE' as found,
       format('alter role %I nocreaterole', r.rolname) as remedy
from pg_catalog.pg_roles as r
join pg_catalog.pg_database as d on d.datname = current_database()
where r.rolcreaterole and not r.rolsuper and r.oid <> d.datdba
  and (
      current_setting('server_version_num')::integer < 160000
      or exists (
          select
          from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
              as w (member name, admin boolean)
          where w.member = r.rolname and w.admin
      )
  )
