-- Severity: medium
-- Title: A client is a member of its group through another role
-- Why: The kernel counts direct members only, so it refuses this one; and whoever is put into the
--   role between gets EXECUTE without being named anywhere.
-- Source: docs/howto/add-a-class.md
-- Needs: nothing
select w.member as object,
       format('it is a member of %s through %s', w."group", array_to_string(w.through, ', '))
           as found,
       format('revoke %I from %I', w.through[cardinality(w.through)], w.member) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, through name[], inherits boolean, sets boolean)
where w.through <> '{}' and w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
  -- A group within a group is roles/group_membership.
  and not exists (
      select
      from jsonb_array_elements_text(
          current_setting('audit.expected')::jsonb -> 'roles'
      ) as e (name)
      where e.name = any (w.through || w.member)
  )
