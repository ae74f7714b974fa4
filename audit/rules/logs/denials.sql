-- Severity: medium
-- Title: A write that PostgreSQL denies leaves no line in the log
-- Why: It is no refusal of a function's and no row; the server's log is the only record.
-- Source: PostgreSQL, "When to Log"; DISA STIG for PostgreSQL 16, CD16-00-000800
-- Needs: nothing
select s.name as object,
       format('it is %s', s.setting) as found,
       case s.source
           when 'database' then format('alter database %I reset %I', current_database(), s.name)
           when 'user' then format('alter role %I reset %I', session_user, s.name)
           else E'alter system set log_min_messages = warning;\nselect pg_catalog.pg_reload_conf()'
       end as remedy
from pg_catalog.pg_settings as s
where s.name = 'log_min_messages' and s.setting in ('log', 'fatal', 'panic')
