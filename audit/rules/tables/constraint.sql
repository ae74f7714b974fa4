-- Severity: high
-- Title: A constraint is missing, was altered or was not validated
-- Why: Constraints say what a row may be, whoever writes it.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select format('%s on %s', e.name, r.name) as object,
       coalesce('it is ' || f.said, 'there is no such constraint') as found,
       case
           when f.said = e.said || ' NOT VALID'
           then format('alter table %s validate constraint %I', r.name, e.name)
           else case when f.said is null then ''
                     else format(E'alter table %s drop constraint %I;\n', r.name, e.name) end
                || format('alter table %s add constraint %I %s', r.name, e.name, e.said)
       end as remedy
from jsonb_each(current_setting('audit.expected')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each_text(r.facts -> 'constraints') as e (name, said)
cross join lateral (
    select (select current_setting('audit.found')::jsonb)
               #>> array['relations', r.name, 'constraints', e.name]
) as f (said)
where (select current_setting('audit.found')::jsonb) -> 'relations' ? r.name
  and f.said is distinct from e.said
