-- Severity: high
-- Title: A foreign key that was not deployed writes a table of ours
-- Why: Who deletes or updates the row that it refers to changes ours, with the rights of
--   fencepost_owner: the triggers take it for the kernel.
-- Source: PostgreSQL, "Foreign Keys"; docs/limits.md
-- Needs: nothing
select format('%s on %s', f.name, r.name) as object,
       f.said as found,
       format('alter table %s drop constraint %I', r.name, f.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each_text(r.facts -> 'constraints') as f (name, said)
where f.said ~ '^FOREIGN KEY .* ON (DELETE|UPDATE) (CASCADE|SET NULL|SET DEFAULT)'
  and f.said is distinct from
      (select current_setting('audit.expected')::jsonb)
          #>> array['relations', r.name, 'constraints', f.name]
