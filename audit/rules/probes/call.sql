-- Severity: high
-- Title: A group can call a function that is not for it
-- Why: It was tried, as the group: EXPLAIN checks EXECUTE on what the statement calls, and calls
--   nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the group that is tried
select f.name as object,
       g.name as role,
       format('explain select %s(%s)', split_part(f.name, '(', 1),
              coalesce((
                  select string_agg('null::' || format_type(t.type, null), ', ' order by t.place)
                  from unnest(p.proargtypes::oid[]) with ordinality as t (type, place)
              ), '')) as statement,
       format('revoke execute on function %s from public, %I', f.name, g.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join pg_catalog.pg_proc as p on p.prokind = 'f'
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    and f.name = format('%I.%I(%s)', n.nspname, p.proname,
                        pg_get_function_identity_arguments(p.oid))
cross join jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as g (name)
where g.name <> 'fencepost_owner'
  and f.facts ->> 'result' <> 'trigger'
  and not coalesce(
      (select current_setting('audit.expected')::jsonb) #> array['functions', f.name, 'privileges']
          ? (g.name || ' EXECUTE'),
      false
  )
