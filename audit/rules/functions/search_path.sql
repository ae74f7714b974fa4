-- Severity: critical
-- Title: A function does not pin its search_path
-- Why: Unless the path is exactly `pg_catalog, pg_temp`, a caller's temporary or public object
--   can take the place of a name in the body, and runs with the owner's rights.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"; CVE-2007-2138, CVE-2018-1058
-- Needs: nothing
select f.name as object,
       coalesce(
           (
               select s.setting
               from jsonb_array_elements_text(f.facts -> 'settings') as s (setting)
               where s.setting like 'search\_path=%'
           ),
           'it has no search_path'
       ) as found,
       format('alter function %s set search_path = pg_catalog, pg_temp', f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
where not f.facts -> 'settings' ? 'search_path=pg_catalog, pg_temp'
  and f.facts ->> 'kind' = 'f'
