-- Severity: high
-- Title: A function is missing
-- Why: Something was dropped or renamed; callers, triggers or checks have lost it.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select e.name as object,
       'there is no such function' as found,
       e.facts ->> 'remade_by' as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
where not coalesce((select current_setting('audit.found')::jsonb) -> 'functions' ? e.name, false)
