-- Severity: critical
-- Title: What a superuser deployed is not what it was
-- Why: The guard before DDL and the watchdog run with rights that the ledger has not. Another body,
--   owner or attribute turns them off, or makes them the way around the boundary.
-- Source: audit/expected.json, of a fresh deployment of superuser/
-- Needs: nothing
select f.object,
       'other than deployed: ' || string_agg(d.key, ', ' order by d.key) as found,
       case
           when f.object like 'function %' then concat_ws(
               E';\n', rtrim(e.facts ->> 'definition', E'\n'),
               format('alter %s owner to %s', f.object,
                      case e.facts ->> 'owner' when 'a superuser' then 'current_user'
                                               else e.facts ->> 'owner' end))
           when f.object like 'event trigger %' then format(
               E'drop %1$s;\n%2$s;\nalter %1$s enable always', f.object, e.facts ->> 'definition')
           when f.object like 'role %' then concat_ws(
               E';\n', e.facts ->> 'definition', format('alter %s reset all', f.object),
               (select string_agg(format('revoke %s from %s', split_part(f.object, ' ', 2), m.name),
                                  E';\n')
                from jsonb_array_elements_text(f.facts -> 'members') as m (name)),
               (select string_agg(format('revoke %s from %s',
                                         regexp_replace(m.name, ' with admin option$', ''),
                                         split_part(f.object, ' ', 2)), E';\n')
                from jsonb_array_elements_text(f.facts -> 'member_of') as m (name)
                where not e.facts -> 'member_of' ? m.name),
               format(E'grant %s to %s', (
                   select string_agg(m.name, ', ')
                   from jsonb_array_elements_text(e.facts -> 'member_of') as m (name)
               ), split_part(f.object, ' ', 2)))
           when bool_and(d.key = 'owner') then format('alter %s owner to current_user', f.object)
           else '-- Revert superuser/ and deploy it again, as docs/howto/deploy-with-sqitch.md says.'
       end as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'superuser') as f (object, facts)
join jsonb_each(current_setting('audit.expected')::jsonb -> 'superuser') as e (object, facts)
    on e.object = f.object
cross join jsonb_object_keys(e.facts - 'privileges') as d (key)
where f.facts -> d.key <> e.facts -> d.key
group by f.object, f.facts, e.facts
