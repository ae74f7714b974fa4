-- Severity: critical
-- Title: A table of ours has a trigger that was not deployed
-- Why: It runs inside every call that writes the table, with the ledger owner's rights.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', t.name, r.name) as object,
       t.facts ->> 'definition' as found,
       format('drop trigger %I on %s', t.name, r.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each(r.facts -> 'triggers') as t (name, facts)
where not coalesce(
    (select current_setting('audit.expected')::jsonb)
        #> array['relations', r.name, 'triggers'] ? t.name, false
)
