-- Severity: medium
-- Title: A client's membership does not give it the group's rights
-- Why: It has them after SET ROLE only, and the kernel refuses whoever does not inherit: what is
--   meant as a principal is none.
-- Source: PostgreSQL 16, GRANT: the options INHERIT and SET
-- Needs: nothing
select w.member as object,
       format('it may SET ROLE %s, and does not inherit it', w."group") as found,
       case when current_setting('server_version_num')::integer < 160000
            then format('alter role %I inherit', w.member)
            else format('grant %I to %I with inherit true', w."group", w.member) end as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, through name[], inherits boolean, sets boolean)
where w.through = '{}' and w."group" <> 'fencepost_owner' and w.sets and not w.inherits
