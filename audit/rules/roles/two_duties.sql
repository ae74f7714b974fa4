-- Severity: high
-- Title: One role has two duties
-- Why: Who may work and judge, or observe and work, can pass the separation the kernel is built
--   on, by acting in one class as the one and in another as the other.
-- Source: OWASP Developer Guide, Secure Database Access: different credentials for every trust
--   distinction; docs/campaign.md
-- Needs: nothing
select w.member as object,
       format('it is a member of %s', string_agg(distinct w."group"::text, ' and ')) as found,
       format(E'-- Keep one of them.\n%s',
              string_agg(distinct format('revoke %I from %I;',
                                         coalesce(w.through[cardinality(w.through)], w."group"),
                                         w.member), E'\n')) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, login boolean, through name[], inherits boolean, sets boolean)
where w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
  and w.member not in (
      select e.name
      from jsonb_array_elements_text(
          current_setting('audit.expected')::jsonb -> 'roles'
      ) as e (name)
  )
group by w.member
having count(distinct w."group") > 1
