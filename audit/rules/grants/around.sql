-- Severity: critical
-- Title: Somebody else's view opens a table of ours to clients
-- Why: A view, and a table with a rule, reads and writes what is beneath it with its owner's rights;
--   a materialized one has the rows themselves. No privilege on the ledger shows it.
-- Source: PostgreSQL, "Rules and Privileges"
-- Needs: nothing
with recursive
client (oid) as (
    select c.oid::oid
    from jsonb_array_elements_text(current_setting('audit.clients')::jsonb) as c (oid)
),
-- What our own views show is theirs to show.
direct (relation, beneath) as (
    select distinct w.ev_class, d.refobjid
    from pg_catalog.pg_rewrite as w
    join pg_catalog.pg_class as v on v.oid = w.ev_class
    join pg_catalog.pg_namespace as n
        on n.oid = v.relnamespace
        and n.nspname not in ('kernel', 'ledger', 'audit', 'pg_catalog', 'information_schema')
    join pg_catalog.pg_depend as d
        on d.classid = 'pg_catalog.pg_rewrite'::regclass and d.objid = w.oid
        and d.refclassid = 'pg_catalog.pg_class'::regclass and d.refobjid <> w.ev_class
),
over (relation, beneath) as (
    select d.relation, d.beneath from direct as d
    union
    select o.relation, d.beneath
    from over as o
    join direct as d on d.relation = o.beneath
),
held (relation, acl) as (
    select c.oid, c.relacl from pg_catalog.pg_class as c
    union all
    select a.attrelid, a.attacl from pg_catalog.pg_attribute as a
)
select v.oid::regclass::text as object,
       format('%s; beneath it is %s',
              string_agg(distinct format('%s has %s', coalesce(g.rolname, 'PUBLIC'),
                                         x.privilege_type), ', '),
              string_agg(distinct b.oid::regclass::text, ', ')) as found,
       format('revoke all on %s from %s cascade', v.oid::regclass,
              string_agg(distinct coalesce(quote_ident(g.rolname), 'public'), ', ')) as remedy
from over as o
join pg_catalog.pg_class as v on v.oid = o.relation
join pg_catalog.pg_namespace as n on n.oid = v.relnamespace
join pg_catalog.pg_class as b on b.oid = o.beneath
join pg_catalog.pg_namespace as m on m.oid = b.relnamespace
join held as h on h.relation = v.oid
cross join pg_catalog.aclexplode(h.acl) as x
left join pg_catalog.pg_roles as g on g.oid = x.grantee
where m.nspname in ('kernel', 'ledger', 'audit')
  and x.grantee <> v.relowner
  and x.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
  -- One that looks with its reader's own rights opens nothing.
  and not exists (
      select from pg_catalog.pg_options_to_table(v.reloptions) as p
      where p.option_name = 'security_invoker' and p.option_value::boolean
  )
  and exists (
      select from client as c
      where (x.grantee = 0 or pg_has_role(c.oid, x.grantee, 'member'))
        and has_schema_privilege(c.oid, n.oid, 'usage')
        and not has_table_privilege(c.oid, b.oid, x.privilege_type)
  )
group by v.oid
