-- Severity: high
-- Title: A sequence does not count as it was deployed to
-- Why: Where it ends or begins again, every insert into its table fails: no campaign is opened, no
--   event logged, no denial recorded.
-- Source: audit/expected.json, of a fresh deployment
-- Needs: nothing
select r.name as object,
       f.said as found,
       format('alter sequence %s %s', r.name, e.said) as remedy
from jsonb_each((select current_setting('audit.expected')::jsonb) -> 'relations') as r (name, facts)
join jsonb_each((select current_setting('audit.found')::jsonb) -> 'relations') as g (name, facts)
    on g.name = r.name
cross join lateral (select r.facts ->> 'sequence') as e (said)
cross join lateral (select g.facts ->> 'sequence') as f (said)
where e.said <> f.said
