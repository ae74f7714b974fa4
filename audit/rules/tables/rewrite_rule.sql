-- Severity: critical
-- Title: A table of ours has a rewrite rule
-- Why: It turns the kernel's statements into others, silently.
-- Source: PostgreSQL, "Rules and Privileges"
-- Needs: nothing
select format('%s on %s', f.name, r.name) as object,
       f.said as found,
       format('drop rule %I on %s', f.name, r.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each_text(r.facts -> 'rules') as f (name, said)
where not coalesce(
    (select current_setting('audit.expected')::jsonb)
        #> array['relations', r.name, 'rules'] ? f.name, false
)
