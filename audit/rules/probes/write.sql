-- Severity: critical
-- Title: A group or a client can write a table of the ledger
-- Why: It was tried, as the role: EXPLAIN checks what the statement would need, and writes
--   nothing.
-- Source: docs/reference/privileges.md
-- Needs: a superuser, or a member of the role that is tried
select r.name as object,
       g.name as role,
       g.groups,
       format(s.statement, r.name, c.column_name) as statement,
       format('revoke %s on %s from public, %s', s.privilege, r.name, g.grantees) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join lateral (
    select k.name from jsonb_each_text(r.facts -> 'columns') as k (name, said)
    where k.said !~ 'generated'
    order by k.name
    limit 1
) as c (column_name)
cross join jsonb_to_recordset(current_setting('audit.actors')::jsonb -> 'tried')
    as g (name name, groups jsonb, grantees text)
cross join (
    values ('insert', 'explain insert into %1$s default values'),
           ('update', 'explain update only %1$s set %2$I = null'),
           ('delete', 'explain delete from only %1$s')
) as s (privilege, statement)
where r.facts ->> 'kind' = 'r'
