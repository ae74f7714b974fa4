-- Severity: medium
-- Title: Lines of the log do not say where they come from
-- Why: The kernel's own lines are told from forged ones by their CONTEXT, which terse leaves out,
--   and denials by their SQLSTATE. The collector's recipe asks for verbose: `raised_in` of
--   audit.refusals is empty without.
-- Source: PostgreSQL, log_error_verbosity
-- Needs: nothing
select s.name as object,
       'it is terse' as found,
       case s.source
           when 'database' then format('alter database %I reset %I', current_database(), s.name)
           when 'user' then format('alter role %I reset %I', session_user, s.name)
           else E'alter system set log_error_verbosity = ''default'';\nselect pg_catalog.pg_reload_conf()'
       end as remedy
from pg_catalog.pg_settings as s
where s.name = 'log_error_verbosity' and s.setting = 'terse'
