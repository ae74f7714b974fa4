-- Severity: low
-- Title: An extension stands in `public`
-- Why: Every client can call what it brings.
-- Source: Supabase splinter 0014, extension_in_public
-- Needs: nothing
select x.extname as object,
       'it is in schema public' as found,
       case when x.extrelocatable
            then format(E'create schema if not exists extensions;\n'
                        'alter extension %I set schema extensions', x.extname)
            else 'revoke usage on schema public from public' end as remedy
from pg_catalog.pg_extension as x
join pg_catalog.pg_namespace as n on n.oid = x.extnamespace
where n.nspname = 'public'
  and exists (
      select from pg_catalog.aclexplode(coalesce(n.nspacl, pg_catalog.acldefault('n', n.nspowner)))
          as a
      where a.grantee = 0 and a.privilege_type = 'USAGE'
  )
