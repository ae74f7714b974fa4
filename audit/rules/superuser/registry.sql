-- Severity: critical
-- Title: Somebody else's code stands where sqitch would run it
-- Why: sqitch runs what its registry holds as whoever deploys: triggers, rules, defaults, and functions
--   that its schema puts before others. That of superuser/ has to be a superuser's throughout; that of
--   the kernel is its deployer's, so that a superuser keeps away from it, and nobody else's.
-- Source: CREATE on a database is the right to make a schema of that name first
-- Needs: nothing
with
registry as (
    select n.* from pg_catalog.pg_namespace as n where n.nspname = 'sqitch_superuser'
       or n.nspname = 'sqitch' and to_regrole('fencepost_owner') is not null
),
-- Whose hands it may be in.
trusted (registry, role) as (
    select n.oid, r.oid
    from registry as n
    cross join pg_catalog.pg_roles as r
    where r.rolsuper
       or n.nspname = 'sqitch' and pg_has_role(r.oid, to_regrole('fencepost_owner'), 'MEMBER')
),
relation as (
    select c.* from pg_catalog.pg_class as c join registry as n on n.oid = c.relnamespace
),
-- What a relation runs or is made of, by what depends on it.
part (registry, classid, objid) as (
    select c.relnamespace, 'pg_class'::regclass, c.oid from relation as c
    union all
    select c.relnamespace, 'pg_attrdef'::regclass, a.oid
    from pg_catalog.pg_attrdef as a join relation as c on c.oid = a.adrelid
    union all
    select c.relnamespace, 'pg_constraint'::regclass, o.oid
    from pg_catalog.pg_constraint as o join relation as c on c.oid = o.conrelid
    union all
    select c.relnamespace, 'pg_policy'::regclass, y.oid
    from pg_catalog.pg_policy as y join relation as c on c.oid = y.polrelid
),
fault (registry, what) as (
    select o.registry, format('%s belongs to %s', pg_describe_object(o.classid, o.objid, 0), r.rolname)
    from (
        select n.oid, 'pg_namespace'::regclass, n.oid from registry as n
        union all
        select n.oid, d.classid, d.objid
        from pg_catalog.pg_depend as d
        join registry as n on d.refclassid = 'pg_namespace'::regclass and d.refobjid = n.oid
    ) as o (registry, classid, objid)
    join pg_catalog.pg_shdepend as s
        on s.classid = o.classid and s.objid = o.objid and s.deptype = 'o'
        and s.dbid = (
            select d.oid from pg_catalog.pg_database as d where d.datname = current_database()
        )
    join pg_catalog.pg_roles as r on r.oid = s.refobjid
    where not exists (
        select from trusted as t where t.registry = o.registry and t.role = s.refobjid
    )
    union all
    select c.relnamespace, pg_describe_object('pg_trigger'::regclass, t.oid, 0)
    from pg_catalog.pg_trigger as t join relation as c on c.oid = t.tgrelid
    where not t.tgisinternal
    union all
    select c.relnamespace, pg_describe_object('pg_rewrite'::regclass, w.oid, 0)
    from pg_catalog.pg_rewrite as w join relation as c on c.oid = w.ev_class
    union all
    -- On what came with PostgreSQL nothing is recorded to depend.
    select p.registry,
           format('%s uses %s', pg_describe_object(d.classid, d.objid, d.objsubid),
                  pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid))
    from part as p
    join pg_catalog.pg_depend as d on d.classid = p.classid and d.objid = p.objid
    where d.refclassid in (
        'pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_opclass'::regclass,
        'pg_collation'::regclass
    )
    union all
    select o.registry,
           format('%s may %s in %s', coalesce(r.rolname, 'PUBLIC'), lower(a.privilege_type), o.what)
    from (
        select n.oid, format('schema %s', n.nspname), n.nspacl from registry as n
        union all
        select c.relnamespace, format('table %s', c.relname), c.relacl from relation as c
    ) as o (registry, what, acl)
    cross join aclexplode(o.acl) as a
    left join pg_catalog.pg_roles as r on r.oid = a.grantee
    where a.privilege_type not in ('USAGE', 'SELECT')
      and not exists (
          select from trusted as t where t.registry = o.registry and t.role = a.grantee
      )
)
select format('schema %s', n.nspname) as object,
       string_agg(f.what, ', ' order by f.what) as found,
       case
           when n.nspname = 'sqitch' then
               E'alter schema sqitch rename to sqitch_as_found;\n'
               '-- As the deployer, who makes the record anew:\n'
               '\\setenv PGDATABASE :DBNAME\n'
               '\\! sqitch deploy --log-only --target db:pg:'
           when to_regnamespace('fencepost_superuser') is not null then
               E'drop schema sqitch_superuser cascade;\n'
               '-- As a superuser, who makes the record anew:\n'
               '\\setenv PGDATABASE :DBNAME\n'
               '\\! superuser/sqitch deploy --log-only --target db:pg:'
           else 'drop schema sqitch_superuser cascade'
       end as remedy
from registry as n
join fault as f on f.registry = n.oid
group by n.nspname
