-- Severity: critical
-- Title: PUBLIC may execute a function
-- Why: EXECUTE for PUBLIC is what a new function has by default; then every role on the server
--   calls it.
-- Source: PostgreSQL, "Privileges"; CREATE FUNCTION
-- Needs: nothing
select f.name as object,
       'EXECUTE is granted to PUBLIC' as found,
       format('revoke execute on function %s from public', f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
where f.facts -> 'privileges' ? 'public EXECUTE'
