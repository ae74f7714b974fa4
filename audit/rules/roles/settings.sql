-- Severity: medium
-- Title: A client's role begins its sessions with a setting that is not for it
-- Why: Limits and what is logged are a DBA's to set. Anything else changes what the client's
--   statements mean or what is loaded; a client can set most of them for itself, and that is a
--   trace of it.
-- Source: PostgreSQL, ALTER ROLE; pg_db_role_setting
-- Needs: nothing
select r.rolname as object,
       s.setting || coalesce(' in database ' || d.datname, '') as found,
       format('alter role %I%s reset %I', r.rolname,
              ' in database ' || quote_ident(d.datname), split_part(s.setting, '=', 1)) as remedy
from pg_catalog.pg_db_role_setting as x
join pg_catalog.pg_roles as r on r.oid = x.setrole
left join pg_catalog.pg_database as d on d.oid = x.setdatabase
cross join unnest(x.setconfig) as s (setting)
where (
      r.rolname in (
          select e.name
          from jsonb_array_elements_text(
              current_setting('audit.expected')::jsonb -> 'roles'
          ) as e (name)
      )
      or r.rolname in (
          select w.member
          from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
              as w (member name, inherits boolean, sets boolean)
          where w.inherits or w.sets
      )
  )
  and (
      split_part(s.setting, '=', 1) not in (
          'statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_session_timeout',
          'idle_in_transaction_session_timeout', 'temp_file_limit', 'log_statement',
          'log_min_duration_statement', 'log_min_messages', 'log_min_error_statement',
          'log_parameter_max_length', 'pgaudit.log', 'application_name', 'timezone', 'TimeZone',
          'work_mem'
      )
      -- What docs/howto/make-principals.md gives them: nothing but what is searched anyway.
      and s.setting <> 'search_path=pg_catalog'
      -- What is denied is an ERROR, and has to leave its line.
      or s.setting ~ '^log_min_messages=(log|fatal|panic)$'
  )
