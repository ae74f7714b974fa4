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
           else format(E'alter system set %I = %L;\nselect pg_reload_conf()', s.name, e.value)
       end as remedy
from pg_catalog.pg_settings as s
join (
    values ('log_min_messages', array['log', 'fatal', 'panic'], 'warning'),
           ('log_min_error_statement', array['log', 'fatal', 'panic'], 'error')
) as e (name, too_little, value) on e.name = s.name
where s.setting = any (e.too_little)
