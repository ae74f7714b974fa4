-- Severity: medium
-- Title: New passwords are kept as MD5
-- Why: Who reads the hash can log in with it.
-- Source: PostgreSQL, "Password Authentication"
-- Needs: nothing
select s.name as object,
       format('it is %s', s.setting) as found,
       case s.source
           when 'database' then format('alter database %I reset %I', current_database(), s.name)
           when 'user' then format('alter role %I reset %I', session_user, s.name)
           else format(E'alter system set %I = ''scram-sha-256'';\nselect pg_catalog.pg_reload_conf()', s.name)
       end as remedy
from pg_catalog.pg_settings as s
where s.name = 'password_encryption' and s.setting <> 'scram-sha-256'
