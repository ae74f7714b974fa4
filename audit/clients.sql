-- Who is given the kernel: the groups, and who has or can take the privileges of one. Neither the
-- owner nor a superuser is a client, to whom nothing is closed.
select coalesce(jsonb_agg(r.oid order by r.oid), '[]') as clients
from (
    select e.name::name
    from jsonb_array_elements_text(current_setting('audit.expected')::jsonb -> 'roles') as e (name)
    union
    select w.member
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, inherits boolean, sets boolean)
    where w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
) as c (name)
join pg_catalog.pg_roles as r on r.rolname = c.name
where c.name <> 'fencepost_owner' and not r.rolsuper
