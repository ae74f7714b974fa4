-- Severity: high
-- Title: Clients have a privilege on the catalogue that PostgreSQL does not give
-- Why: The hashes of passwords, the server's files and its settings are kept from everybody by
--   nothing but these grants.
-- Source: PostgreSQL, pg_init_privs
-- Needs: nothing
with
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
),
held (kind, classid, objid, objsubid, owner, acl, standard) as materialized (
    select 'table', 'pg_catalog.pg_class'::regclass, c.oid, 0, c.relowner, c.relacl,
           pg_catalog.acldefault('r', c.relowner)
    from pg_catalog.pg_class as c
    where c.relnamespace = 'pg_catalog'::regnamespace and c.relacl is not null
    union all
    select 'table', 'pg_catalog.pg_class'::regclass, c.oid, a.attnum, c.relowner, a.attacl,
           pg_catalog.acldefault('c', c.relowner)
    from pg_catalog.pg_class as c
    join pg_catalog.pg_attribute as a on a.attrelid = c.oid
    where c.relnamespace = 'pg_catalog'::regnamespace and a.attacl is not null
    union all
    select 'routine', 'pg_catalog.pg_proc'::regclass, p.oid, 0, p.proowner, p.proacl,
           pg_catalog.acldefault('f', p.proowner)
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace and p.proacl is not null
),
more as materialized (
    select h.kind, h.objid, h.objsubid, x.grantee, x.privilege_type
    from held as h
    left join pg_catalog.pg_init_privs as i
        on i.classoid = h.classid and i.objoid = h.objid and i.objsubid = h.objsubid
    cross join pg_catalog.aclexplode(h.acl) as x
    where x.grantee <> h.owner
      and h.acl is distinct from i.initprivs
      and not exists (
          select from pg_catalog.aclexplode(coalesce(i.initprivs, h.standard)) as y
          where y.privilege_type = x.privilege_type and y.grantee in (0, x.grantee)
      )
)
select format('%s %s', m.kind, n.name) as object,
       format('%s has %s', coalesce(g.rolname, 'PUBLIC'),
              string_agg(distinct m.privilege_type, ', ')) as found,
       format('revoke %s on %s %s from %s cascade',
              string_agg(
                  distinct lower(m.privilege_type)
                               || coalesce(' (' || quote_ident(a.attname) || ')', ''), ', '),
              m.kind, n.name, coalesce(quote_ident(g.rolname), 'public')) as remedy
from more as m
cross join lateral (
    select case m.kind when 'table' then m.objid::regclass::text
                       else m.objid::regprocedure::text end
) as n (name)
left join pg_catalog.pg_attribute as a
    on m.objsubid <> 0 and a.attrelid = m.objid and a.attnum = m.objsubid
left join pg_catalog.pg_roles as g on g.oid = m.grantee
where m.grantee = 0
   or exists (select from client as c where pg_has_role(c.oid, m.grantee, 'member'))
group by m.kind, n.name, g.rolname
