-- Severity: high
-- Title: Clients can reach another server through this one
-- Why: The server connects for them, from its own address and as whom a mapping says; where that
--   is this server again, past their own grants.
-- Source: PostgreSQL, "Foreign Data", CREATE USER MAPPING
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
),
way (object, kind, name, owner, acl, namespace) as (
    select format('foreign-data wrapper %I', w.fdwname), 'foreign data wrapper',
           quote_ident(w.fdwname), w.fdwowner, w.fdwacl, null::oid
    from pg_catalog.pg_foreign_data_wrapper as w
    union all
    select format('server %I', s.srvname), 'foreign server', quote_ident(s.srvname), s.srvowner,
           s.srvacl, null
    from pg_catalog.pg_foreign_server as s
    union all
    select format('foreign table %s', t.oid::regclass), 'table', t.oid::regclass::text, t.relowner,
           t.relacl, t.relnamespace
    from pg_catalog.pg_class as t
    where t.relkind = 'f'
)
select w.object,
       format('%s has %s', coalesce(g.rolname, 'PUBLIC'),
              string_agg(x.privilege_type, ', ' order by x.privilege_type)) as found,
       format('revoke all on %s %s from %s cascade', w.kind, w.name,
              coalesce(quote_ident(g.rolname), 'public')) as remedy
from way as w
cross join pg_catalog.aclexplode(w.acl) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where x.grantee <> w.owner
  and exists (
      select from client as c
      where (x.grantee = 0 or pg_has_role(c.oid, x.grantee, 'member'))
        and (w.namespace is null or has_schema_privilege(c.oid, w.namespace, 'usage'))
  )
group by w.object, w.kind, w.name, g.rolname
union all
select format('user mapping of %s for server %I', r.rolname, m.srvname),
       'it lends a client somebody''s account',
       format('drop user mapping for %I server %I', r.rolname, m.srvname)
from pg_catalog.pg_user_mappings as m
join client as c on c.oid = m.umuser
join pg_catalog.pg_roles as r on r.oid = c.oid
