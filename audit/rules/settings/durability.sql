-- Severity: medium
-- Title: A crash loses what was answered with ok
-- Why: Without fsync and full pages a crash of the machine leaves less than what was committed,
--   or nothing that can be read.
-- Source: PostgreSQL, "Write Ahead Log"
-- Needs: nothing
select s.name as object,
       'it is off' as found,
       format(E'alter system set %I = on;\nselect pg_catalog.pg_reload_conf()', s.name) as remedy
from pg_catalog.pg_settings as s
where s.name in ('fsync', 'full_page_writes') and s.setting = 'off'
