-- Who is a member of the ledger's groups and of its owner, directly or through others. `inherits`
-- and `sets` say whether the member has the group's privileges, or can take them by SET ROLE; from
-- 16 on a membership may give neither, and only the right to grant the group, `admin`.
with recursive
edge as (
    select m.roleid, m.member, m.admin_option as admin,
           coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit) as inherits,
           coalesce((to_jsonb(m) ->> 'set_option')::boolean, true) as sets
    from pg_catalog.pg_auth_members as m
    join pg_catalog.pg_roles as r on r.oid = m.member
),
reach (of_group, member, through, inherits, sets, admin) as (
    select e.roleid, e.member, array[]::oid[], e.inherits, e.sets, e.admin
    from jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as x (name)
    join pg_catalog.pg_roles as r on r.rolname = x.name
    join edge as e on e.roleid = r.oid
    union
    select p.of_group, e.member, p.through || p.member, p.inherits and e.inherits,
           p.sets and e.sets, p.sets and e.admin
    from reach as p
    join edge as e on e.roleid = p.member
    where e.member <> all (p.through)
)
select coalesce(jsonb_agg(jsonb_build_object(
    'group', g.rolname,
    'member', m.rolname,
    'login', m.rolcanlogin,
    'through', array(
        select t.rolname
        from unnest(w.through) with ordinality as u (oid, place)
        join pg_catalog.pg_roles as t on t.oid = u.oid
        order by u.place
    ),
    'inherits', w.inherits,
    'sets', w.sets,
    'admin', w.admin
)), '[]') as memberships
from (
    select r.of_group, r.member, r.through, bool_or(r.inherits) as inherits,
           bool_or(r.sets) as sets, bool_or(r.admin) as admin
    from reach as r
    group by r.of_group, r.member, r.through
) as w
join pg_catalog.pg_roles as g on g.oid = w.of_group
join pg_catalog.pg_roles as m on m.oid = w.member
