-- Severity: high
-- Title: Others than were given it may use what a superuser deployed
-- Why: Who may call watchdog.evict ends sessions; the rest is no client's at all.
-- Source: audit/expected.json, of a fresh deployment of superuser/
-- Needs: nothing
select f.object,
       string_agg(format('%s: %s', case when p.is_held then 'more' else 'less' end, p.privilege),
                  ', ' order by p.is_held desc, p.privilege) as found,
       string_agg(
           regexp_replace(
               p.privilege, '^(\w+) to (.*?)( with grant option)?$',
               case when p.is_held then format('revoke \1 on %s from \2', f.object)
                    else format('grant \1 on %s to \2\3', f.object) end),
           E';\n' order by p.is_held desc, p.privilege
       ) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'superuser') as f (object, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'superuser') as e (object, facts)
    on e.object = f.object
cross join lateral (
    select h.privilege, true
    from jsonb_array_elements_text(f.facts -> 'privileges') as h (privilege)
    where not e.facts -> 'privileges' ? h.privilege
    union all
    select h.privilege, false
    from jsonb_array_elements_text(e.facts -> 'privileges') as h (privilege)
    where not f.facts -> 'privileges' ? h.privilege
) as p (privilege, is_held)
group by f.object
