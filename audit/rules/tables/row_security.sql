-- Severity: medium
-- Title: A table of ours has row security that was not deployed
-- Why: It hides rows from the kernel's functions, and their answers are wrong.
-- Source: CVE-2023-2455, CVE-2024-10976: policies and cached plans of definers
-- Needs: nothing
select r.name as object,
       'row security is on' as found,
       format('alter table %s disable row level security, no force row level security', r.name)
           as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
where (r.facts ->> 'row_security')::boolean
