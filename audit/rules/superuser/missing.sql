-- Severity: high
-- Title: A part of what a superuser deployed is missing
-- Why: Its other half stands, so that it was deployed; without this one it does nothing.
-- Source: audit/expected.json, of a fresh deployment of superuser/
-- Needs: nothing
with
part (object, name, facts, is_found) as (
    select e.object,
           case when e.object ~ 'client_ddl' then 'guard'
                when e.object ~ 'watchdog' then 'watchdog'
                else 'foundation' end,
           e.facts,
           current_setting('audit.found')::jsonb -> 'superuser' ? e.object
    from jsonb_each(current_setting('audit.expected')::jsonb -> 'superuser') as e (object, facts)
)
select p.object,
       'it is missing' as found,
       case
           when p.object like 'event trigger %' then format(
               E'%s;\nalter %s enable always', p.facts ->> 'definition', p.object)
           when p.object like 'function %' then concat_ws(
               E';\n', rtrim(p.facts ->> 'definition', E'\n'),
               format('alter %s owner to %s', p.object,
                      case p.facts ->> 'owner' when 'a superuser' then 'current_user'
                                               else p.facts ->> 'owner' end),
               format('revoke execute on %s from public', p.object),
               (select string_agg(regexp_replace(h.privilege, '^(\w+) to (.*)$',
                                                 format('grant \1 on %s to \2', p.object)), E';\n')
                from jsonb_array_elements_text(p.facts -> 'privileges') as h (privilege)))
           else '-- Revert superuser/ and deploy it again, as docs/howto/deploy-with-sqitch.md says.'
       end as remedy
from part as p
where not p.is_found
  -- The role outlives a revert.
  and exists (
      select from part as o
      where o.name = p.name and o.is_found and o.object not like 'role %'
  )
