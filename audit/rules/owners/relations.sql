-- Severity: critical
-- Title: A table, view or sequence of ours belongs to another role
-- Why: Who owns a table can write it, drop its triggers and grant it to anybody.
-- Source: PostgreSQL, "Privileges"
-- Needs: nothing
select r.name as object,
       format('it belongs to %s', r.facts ->> 'owner') as found,
       format('alter %s %s owner to fencepost_owner',
              case r.facts ->> 'kind' when 'v' then 'view' when 'S' then 'sequence'
                   when 'm' then 'materialized view' else 'table' end, r.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
where r.facts ->> 'owner' <> 'fencepost_owner'
