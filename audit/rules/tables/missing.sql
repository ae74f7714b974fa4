-- Severity: critical
-- Title: A table, view or sequence is missing
-- Why: It was dropped or renamed, and what it kept is lost or somewhere else.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select e.name as object,
       'there is no such relation' as found,
       coalesce(e.facts ->> 'remade_by',
                '-- Restore it from a backup; there is no statement that brings its rows back.')
           as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as e (name, facts)
where not coalesce((select current_setting('audit.found')::jsonb) -> 'relations' ? e.name, false)
