-- Severity: note
-- Title: Sessions load a library before they begin
-- Why: It sees every statement and every password. Some are meant to.
-- Source: PostgreSQL, "Shared Library Preloading"
-- Needs: membership in pg_read_all_settings, or a superuser
-- Seen when: pg_has_role('pg_read_all_settings', 'usage')
select s.name as object,
       format('it is %s', s.setting) as found,
       format('alter system reset %I', s.name) as remedy
from pg_catalog.pg_settings as s
where s.name in ('session_preload_libraries', 'local_preload_libraries', 'shared_preload_libraries')
  and s.setting <> ''
