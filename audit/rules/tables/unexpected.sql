-- Severity: high
-- Title: A relation in our schemas was not deployed
-- Why: Nothing of the kernel's uses it; a name there is taken for the ledger's.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select r.name as object,
       format('it belongs to %s', r.facts ->> 'owner') as found,
       format('drop %s %s',
              case r.facts ->> 'kind' when 'v' then 'view' when 'S' then 'sequence'
                   when 'm' then 'materialized view' when 'f' then 'foreign table'
                   else 'table' end, r.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
where not (select current_setting('audit.expected')::jsonb) -> 'relations' ? r.name
