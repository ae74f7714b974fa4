-- Severity: high
-- Title: A table of ours has an index or statistics that were not deployed
-- Why: Every statement on the table plans their expressions, with the rights of whoever makes it,
--   a superuser's too; and a unique one refuses what the kernel writes.
-- Source: PostgreSQL, CREATE INDEX; CREATE STATISTICS
-- Needs: nothing
select format('%s on %s', n.name, r.name) as object,
       f.said as found,
       case d.key when 'indexes'
            then format('drop index %s.%s', split_part(r.name, '.', 1), n.name)
            else format('drop statistics %s', n.name) end as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join (values ('indexes'), ('statistics')) as d (key)
cross join jsonb_each_text(r.facts -> d.key) as f (name, said)
-- A statistic has a schema of its own, and brings it.
cross join lateral (
    select case d.key when 'indexes' then quote_ident(f.name) else f.name end
) as n (name)
where not coalesce(
    (select current_setting('audit.expected')::jsonb) #> array['relations', r.name, d.key] ? f.name,
    false
)
