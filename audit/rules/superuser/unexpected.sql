-- Severity: medium
-- Title: A superuser's schema holds what was not deployed
-- Why: What stands beside the watchdog is taken for a part of it.
-- Source: audit/expected.json, of a fresh deployment of superuser/
-- Needs: nothing
select f.object,
       'it is not of the deployment' as found,
       format('drop %s', f.object) as remedy
from jsonb_object_keys(current_setting('audit.found')::jsonb -> 'superuser') as f (object)
where not current_setting('audit.expected')::jsonb -> 'superuser' ? f.object
