-- Severity: critical
-- Title: A group can write a table of the ledger
-- Why: It was tried, as the group: EXPLAIN checks what the statement would need, and writes
--   nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the group that is tried
select r.name as object,
       g.name as role,
       format(s.statement, r.name, c.column_name) as statement,
       format('revoke %s on %s from public, %I', s.privilege, r.name, g.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join lateral (
    select k.name from jsonb_each_text(r.facts -> 'columns') as k (name, said)
    where k.said !~ 'generated'
    order by k.name
    limit 1
) as c (column_name)
cross join jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as g (name)
cross join (
    values ('insert', 'explain insert into %1$s default values'),
           ('update', 'explain update %1$s set %2$I = null'),
           ('delete', 'explain delete from %1$s')
) as s (privilege, statement)
where g.name <> 'fencepost_owner' and r.facts ->> 'kind' = 'r'
