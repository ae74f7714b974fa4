-- Severity: medium
-- Title: A group has lost a function
-- Why: Its members are denied what they are for; nothing protects, and something is not done.
-- Source: docs/reference/privileges.md
-- Needs: nothing
select e.name as object,
       format('%s may not execute it', g.held[1]) as found,
       format('grant execute on function %s to %I', e.name, g.held[1]) as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
join jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
    on f.name = e.name
cross join jsonb_array_elements_text(e.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) (EXECUTE)') as g (held)
where not exists (
    select from jsonb_array_elements_text(f.facts -> 'privileges') as p (privilege)
    where p.privilege in (h.privilege, h.privilege || ' with grant option')
)
