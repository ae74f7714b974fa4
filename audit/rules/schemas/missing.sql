-- Severity: critical
-- Title: A schema of ours is missing
-- Why: It was dropped or renamed, and what was in it is not where callers and triggers look.
-- Source: deploy/foundation/schemas.sql
-- Needs: nothing
select e.name as object,
       'there is no such schema' as found,
       coalesce(
           (
               select format('alter schema %I rename to %I', n.nspname, e.name)
               from pg_catalog.pg_namespace as n
               join pg_catalog.pg_roles as r on r.oid = n.nspowner
               join pg_catalog.pg_class as c on c.relnamespace = n.oid
               where r.rolname = 'fencepost_owner'
                 and n.nspname not in ('kernel', 'ledger', 'audit')
                 and (select current_setting('audit.expected')::jsonb) #> array[
                     case when c.relkind = 'c' then 'types' else 'relations' end,
                     format('%I.%I', e.name, c.relname)
                 ] is not null
               limit 1
           ),
           '-- Restore a backup; or revert and deploy again, which loses the ledger.'
       ) as remedy
from jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'schemas') as e (name)
where not (select current_setting('audit.found')::jsonb) -> 'schemas' ? e.name
