-- Severity: high
-- Title: A group or a client can call a function that is not for it
-- Why: It was tried, as the role: EXPLAIN checks EXECUTE on what the statement calls, and calls
--   nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the role that is tried
select f.name as object,
       g.name as role,
       g.groups,
       -- An immutable function of constants would be called by the planner; of columns, it is not.
       case when p.pronargs = 0 then format('explain select %I.%I()', n.nspname, p.proname)
            else (
                select format('explain select %1$I.%2$I(%3$s) from (select %4$s offset 0) as a (%3$s)',
                              n.nspname, p.proname,
                              string_agg('a' || t.place, ', ' order by t.place),
                              string_agg('null::' || format_type(t.type, null), ', '
                                         order by t.place))
                from unnest(p.proargtypes::oid[]) with ordinality as t (type, place)
            ) end as statement,
       format('revoke execute on function %s from public, %s', f.name, g.grantees) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
join pg_catalog.pg_proc as p on p.prokind = 'f'
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    and f.name = format('%I.%I(%s)', n.nspname, p.proname,
                        pg_get_function_identity_arguments(p.oid))
cross join jsonb_to_recordset(current_setting('audit.actors')::jsonb -> 'tried')
    as g (name name, groups jsonb, grantees text)
where f.facts ->> 'result' <> 'trigger'
  and not coalesce(
      (select current_setting('audit.expected')::jsonb) #> array['functions', f.name, 'privileges']
          ?| array(
              select x.name || ' EXECUTE' from jsonb_array_elements_text(g.groups) as x (name)
          ),
      false
  )
