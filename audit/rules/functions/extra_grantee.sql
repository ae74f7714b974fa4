-- Severity: high
-- Title: A role may execute a function that is not for it
-- Why: Which group calls what is the separation of duties. Trigger functions and helpers are for
--   nobody.
-- Source: docs/reference/privileges.md
-- Needs: nothing
select f.name as object,
       format('%s may execute it', g.held[1]) as found,
       format('revoke execute on function %s from %I cascade', f.name, g.held[1]) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'functions') as f (name, facts)
cross join jsonb_array_elements_text(f.facts -> 'privileges') as h (privilege)
cross join regexp_matches(h.privilege, '^(.*) (EXECUTE)') as g (held)
where g.held[1] <> 'public'
  and not coalesce(
      (select current_setting('audit.expected')::jsonb) #> array['functions', f.name, 'privileges']
          ? array_to_string(g.held, ' '),
      false
  )
