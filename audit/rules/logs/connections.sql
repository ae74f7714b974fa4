-- Severity: low
-- Title: Nobody can say later who was connected
-- Why: The kernel keeps what was called, not who came and went without calling.
-- Source: CIS PostgreSQL Benchmark 3.1.20, 3.1.21
-- Needs: nothing
select s.name as object,
       'it is off' as found,
       format(E'alter system set %I = on;\nselect pg_catalog.pg_reload_conf()', s.name) as remedy
from pg_catalog.pg_settings as s
where s.name in ('log_connections', 'log_disconnections') and s.setting in ('off', '')
