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
               from pg_catalog.pg_proc as p
               join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
               join pg_catalog.pg_roles as r on r.oid = p.proowner
               where r.rolname = 'fencepost_owner'
                 and n.nspname not in ('kernel', 'ledger', 'audit')
                 and exists (
                     select
                     from jsonb_object_keys(
                         (select current_setting('audit.expected')::jsonb) -> 'functions'
                     ) as f (name)
                     where f.name like format('%s.%%', e.name)
                       and f.name = format('%I.%I(%s)', e.name, p.proname,
                                           pg_get_function_identity_arguments(p.oid))
                 )
               limit 1
           ),
           '-- Restore a backup; or revert and deploy again, which loses the ledger.'
       ) as remedy
from jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'schemas') as e (name)
where not (select current_setting('audit.found')::jsonb) -> 'schemas' ? e.name
