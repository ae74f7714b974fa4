-- As whom the probes are tried: each group, and of the LOGIN roles that are clients one for each set
-- of roles whose privileges it has. A client to whom something was granted itself, or that owns
-- something, stands for itself alone. `groups` may do what was deployed; `grantees`, quoted, are
-- whom else a privilege can have come to it through. What is above the limit is left out, and named.
with
client as (
    select r.oid, r.rolname as name,
           coalesce(jsonb_agg(distinct w."group") filter (where w.inherits), '[]') as groups
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, inherits boolean, sets boolean)
    join pg_catalog.pg_roles as r on r.rolname = w.member
    where r.rolcanlogin and not r.rolsuper and (w.inherits or w.sets)
      and not (select current_setting('audit.expected')::jsonb) -> 'roles' ? r.rolname::text
    group by r.oid, r.rolname
    -- Who may become the owner may do everything; roles/owner_member names it.
    having not bool_or(w."group" = 'fencepost_owner')
),
able as (
    select c.oid, c.name, c.groups,
           array(
               select r.rolname::text
               from pg_catalog.pg_roles as r
               where pg_has_role(c.oid, r.oid, 'usage') and r.oid <> c.oid
               order by 1
           ) as roles,
           exists (
               select
               from pg_catalog.pg_shdepend as d
               join pg_catalog.pg_database as b on b.datname = current_database()
               where d.refclassid = 'pg_catalog.pg_authid'::regclass and d.refobjid = c.oid
                 and d.deptype in ('a', 'o')
                 and (d.dbid = b.oid
                      or d.classid = 'pg_catalog.pg_database'::regclass and d.objid = b.oid)
           ) as is_particular
    from client as c
),
distinct_one as (
    select a.*, row_number() over (order by a.is_particular desc, a.name) as number
    from (
        select a.*,
               row_number() over (
                   partition by a.roles, case when a.is_particular then a.name end order by a.name
               ) as of_its_kind
        from able as a
    ) as a
    where a.of_its_kind = 1
),
tried (place, name, groups, grantees) as (
    select 0, e.name, jsonb_build_array(e.name), quote_ident(e.name)
    from jsonb_array_elements_text(
        (select current_setting('audit.expected')::jsonb) -> 'roles'
    ) as e (name)
    where e.name <> 'fencepost_owner'
    union all
    select d.number, d.name, d.groups,
           concat_ws(', ', quote_ident(d.name), (
               select string_agg(quote_ident(r.name), ', ')
               from unnest(d.roles) as r (name)
               where not d.groups ? r.name
           ))
    from distinct_one as d
    where d.number <= 20
)
select jsonb_build_object(
    'tried', (
        select jsonb_agg(jsonb_build_object(
            'name', t.name, 'groups', t.groups, 'grantees', t.grantees
        ) order by t.place, t.name)
        from tried as t
    ),
    'left_out', (
        select coalesce(jsonb_agg(d.name order by d.name), '[]')
        from distinct_one as d
        where d.number > 20
    )
) as actors
