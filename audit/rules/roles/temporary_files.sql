-- Severity: low
-- Title: A client's sorts may fill the disk
-- Why: temp_file_limit is a superuser's setting, so a client cannot raise it again.
-- Source: PostgreSQL, "Disk"
-- Needs: nothing
select r.rolname as object,
       'it has no temp_file_limit' as found,
       format('alter role %I set temp_file_limit = ''1GB''', r.rolname) as remedy
from (
    select distinct w.member
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, login boolean, inherits boolean, sets boolean)
    where w.login and w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
) as c
join pg_catalog.pg_roles as r on r.rolname = c.member
where not exists (
      select from pg_catalog.pg_db_role_setting as x
      cross join unnest(x.setconfig) as s (setting)
      where x.setrole in (r.oid, 0)
        and split_part(s.setting, '=', 1) = 'temp_file_limit'
        and s.setting <> 'temp_file_limit=-1'
  )
  and not exists (
      select from pg_catalog.pg_settings as p
      where p.name = 'temp_file_limit' and p.setting <> '-1'
  )
