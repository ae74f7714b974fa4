-- Severity: low
-- Title: Clients own or share large objects
-- Why: No table shows them and no limit of the ledger's bounds them: a place to store things, and to
--   leave them for others.
-- Source: PostgreSQL, "Large Objects"; docs/limits.md
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
)
select format('large objects of %s', r.rolname) as object,
       format('there are %s', count(*)) as found,
       format('select pg_catalog.lo_unlink(m.oid)'
              ' from pg_catalog.pg_largeobject_metadata as m where m.lomowner = %L::regrole',
              quote_ident(r.rolname)) as remedy
from pg_catalog.pg_largeobject_metadata as m
join client as c on c.oid = m.lomowner
join pg_catalog.pg_roles as r on r.oid = c.oid
group by r.rolname
union all
select format('large object %s', m.oid),
       format('%s has %s', coalesce(g.rolname, 'PUBLIC'), x.privilege_type),
       format('revoke %s on large object %s from %s', lower(x.privilege_type), m.oid,
              coalesce(quote_ident(g.rolname), 'public'))
from pg_catalog.pg_largeobject_metadata as m
cross join pg_catalog.aclexplode(m.lomacl) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where x.grantee <> m.lomowner
  and (x.grantee = 0 or exists (
      select from client as c where pg_has_role(c.oid, x.grantee, 'member')
  ))
