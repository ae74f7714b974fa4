-- Severity: high
-- Title: fencepost_owner owns something that is not the ledger's
-- Why: A function of its runs with the ledger's rights, wherever it stands; a relation of its can
--   carry triggers that do.
-- Source: PostgreSQL, "Writing SECURITY DEFINER Functions Safely"
-- Needs: nothing
select o.name as object,
       'it belongs to fencepost_owner' as found,
       format('alter %s owner to %I', o.name, b.rolname) as remedy
from (
    select 'routine ' || p.oid::regprocedure, p.pronamespace, p.proowner
    from pg_catalog.pg_proc as p
    union all
    select case c.relkind when 'v' then 'view ' when 'S' then 'sequence '
                when 'm' then 'materialized view ' else 'table ' end || c.oid::regclass,
           c.relnamespace, c.relowner
    from pg_catalog.pg_class as c
    where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f')
    union all
    select 'type ' || t.oid::regtype, t.typnamespace, t.typowner
    from pg_catalog.pg_type as t
    where t.typtype in ('d', 'e', 'r')
    union all
    select format('schema %I', n.nspname), n.oid, n.nspowner
    from pg_catalog.pg_namespace as n
) as o (name, namespace, owner)
join pg_catalog.pg_namespace as n on n.oid = o.namespace
join pg_catalog.pg_roles as r on r.oid = o.owner and r.rolname = 'fencepost_owner'
join pg_catalog.pg_database as d on d.datname = current_database()
join pg_catalog.pg_roles as b on b.oid = d.datdba
where n.nspname not in ('kernel', 'ledger', 'audit', 'pg_toast')
