-- Severity: medium
-- Title: Sessions of this database begin with a setting that is not for it
-- Why: It holds for every client: names are looked up elsewhere, something is loaded, triggers do
--   not fire, or what is logged is less.
-- Source: PostgreSQL, ALTER DATABASE, ALTER ROLE ALL; pg_db_role_setting
-- Needs: nothing
select coalesce('database ' || quote_ident(d.datname), 'every role') as object,
       s.setting as found,
       format('alter %s reset %I', coalesce('database ' || quote_ident(d.datname), 'role all'),
              split_part(s.setting, '=', 1)) as remedy
from pg_catalog.pg_db_role_setting as x
left join pg_catalog.pg_database as d on d.oid = x.setdatabase
cross join unnest(x.setconfig) as s (setting)
where x.setrole = 0
  and (x.setdatabase = 0 or d.datname = current_database())
  and split_part(s.setting, '=', 1) not in (
      'statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_session_timeout',
      'idle_in_transaction_session_timeout', 'temp_file_limit', 'log_statement',
      'log_min_duration_statement', 'pgaudit.log', 'timezone', 'TimeZone', 'work_mem'
  )
