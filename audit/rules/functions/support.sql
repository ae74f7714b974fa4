-- Severity: high
-- Title: A function of ours has a support function or a transform
-- Why: The planner calls the one, in machine code, wherever the function is called; the other makes
--   its arguments what they were not.
-- Source: PostgreSQL, CREATE FUNCTION, SUPPORT and TRANSFORM
-- Needs: nothing
select e.name as object,
       concat_ws(', ', 'its support function is ' || nullif(p.prosupport, 0)::regproc,
                 'it transforms ' || array_to_string(p.protrftypes::regtype[], ', ')) as found,
       e.facts ->> 'remade_by' as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'functions') as e (name, facts)
join pg_catalog.pg_proc as p on p.prosupport <> 0 or p.protrftypes is not null
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    and e.name = format('%I.%I(%s)', n.nspname, p.proname,
                        pg_catalog.pg_get_function_identity_arguments(p.oid))
where n.nspname in ('kernel', 'ledger', 'audit')
