-- Severity: high
-- Title: A role can become a principal
-- Why: Whoever is a member of a principal can read its sessions' queries, end them, and after SET
--   ROLE make objects in its name; two that belong to each other are not two.
-- Source: docs/campaign.md: neither is a member of the other
-- Needs: nothing
select m.rolname as object,
       format('it is a member of %s, a member of %s', p.rolname, c.of_groups) as found,
       format('revoke %I from %I', p.rolname, m.rolname) as remedy
from (
    select w.member, string_agg(distinct w."group"::text, ' and ') as of_groups
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, login boolean, inherits boolean, sets boolean)
    where w.login and w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
    group by w.member
) as c
join pg_catalog.pg_roles as p on p.rolname = c.member
join pg_catalog.pg_auth_members as a on a.roleid = p.oid
join pg_catalog.pg_roles as m on m.oid = a.member
where not m.rolsuper
  -- From 16 on who made a role is a member that may only grant it.
  and (coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, true)
       or coalesce((to_jsonb(a) ->> 'set_option')::boolean, true))
