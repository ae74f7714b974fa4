-- Severity: critical
-- Title: A trigger is switched off, or fires at other times than it was deployed to
-- Why: Triggers refuse what no move is, from the owner's hand and a superuser's too. Those that
--   were deployed ENABLE ALWAYS also fire under session_replication_role = replica.
-- Source: PostgreSQL, ALTER TABLE
-- Needs: nothing
select format('%s on %s', t.name, r.name) as object,
       'its state is ' || case t.facts ->> 'enabled' when 'D' then 'DISABLED' when 'O' then 'ORIGIN'
                               when 'R' then 'REPLICA' else 'ALWAYS' end as found,
       format('alter table %s %s trigger %I', r.name,
              case e.facts ->> 'enabled' when 'A' then 'enable always' when 'O' then 'enable'
                   when 'R' then 'enable replica' else 'disable' end, t.name) as remedy
from jsonb_each(current_setting('audit.found')::jsonb -> 'relations') as r (name, facts)
cross join jsonb_each(r.facts -> 'triggers') as t (name, facts)
join lateral (
    select (select current_setting('audit.expected')::jsonb)
               #> array['relations', r.name, 'triggers', t.name]
) as e (facts) on true
where t.facts -> 'enabled' <> e.facts -> 'enabled'
