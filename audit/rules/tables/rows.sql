-- Severity: critical
-- Title: The rows that say which moves are legal are not those that were deployed
-- Why: A row of ledger.transition is a permission; with one more a worker confirms its own
--   campaign.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: the right to read the tables, which superusers and members of fencepost_owner have,
--   and tables that are as deployed
-- Seen when: (select current_setting('audit.found')::jsonb) -> 'rows' <> 'null'
select t.name as object,
       case when e.is_there then 'a row was deleted: ' else 'a row was added: ' end || r.row
           as found,
       -- The tables refuse every change but by who switches their triggers off.
       format(E'begin;\nalter table %1$s disable trigger user;\n%2$s;\n%3$s\ncommit', t.name,
              case when e.is_there
                   then format('insert into %1$s '
                                   'select * from jsonb_populate_record(null::%1$s, %2$L)',
                               t.name, r.row)
                   else format('delete from %1$s as t where to_jsonb(t) = %2$L', t.name, r.row) end,
              coalesce((
                  select string_agg(
                      format('alter table %s enable %strigger %I;', t.name,
                             case g.facts ->> 'enabled' when 'A' then 'always ' else '' end,
                             g.name),
                      E'\n')
                  from jsonb_each(current_setting('audit.expected')::jsonb
                                      #> array['relations', t.name, 'triggers']) as g (name, facts)
              ), '')) as remedy
from jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'rows') as t (name)
cross join lateral (
    select jsonb_array_elements(
        (select current_setting('audit.expected')::jsonb) #> array['rows', t.name]
    )
    union
    select jsonb_array_elements(
        (select current_setting('audit.found')::jsonb) #> array['rows', t.name]
    )
) as r (row)
cross join lateral (
    select (select current_setting('audit.expected')::jsonb) #> array['rows', t.name]
               @> jsonb_build_array(r.row)
) as e (is_there)
where e.is_there
      is distinct from coalesce(
          (select current_setting('audit.found')::jsonb) #> array['rows', t.name]
              @> jsonb_build_array(r.row),
          false
      )
