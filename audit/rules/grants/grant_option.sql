-- Severity: high
-- Title: A role may grant on what was granted to it
-- Why: It decides who else may, PUBLIC included, without a DBA.
-- Source: PostgreSQL, GRANT
-- Needs: nothing
select o.name as object,
       format('%s has %s WITH GRANT OPTION', g.held[1], g.held[2]) as found,
       format('revoke grant option for %s on %s %s from %I cascade', lower(g.held[2]), o.kind,
              o.name, g.held[1]) as remedy
from (
    select k.kind, x.name, x.facts
    from (
        values ('functions', 'function'), ('relations', 'table'), ('types', 'type'),
               ('schemas', 'schema')
    ) as k (key, kind)
    cross join jsonb_each(current_setting('audit.found')::jsonb -> k.key) as x (name, facts)
) as o
cross join jsonb_array_elements_text(o.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) ([A-Z]+) with grant option$') as g (held)
