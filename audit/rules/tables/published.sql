-- Severity: medium
-- Title: A table of ours is published
-- Why: Whoever connects as a replication role receives every change of it, with the hashes of tokens
--   and all that no view shows.
-- Source: PostgreSQL, CREATE PUBLICATION
-- Needs: nothing
select t.schemaname || '.' || t.tablename as object,
       format('it is in publication %s', p.pubname) as found,
       case when p.puballtables then format('drop publication %I', p.pubname)
            when exists (select from pg_catalog.pg_publication_namespace as s where s.pnpubid = p.oid)
            then format('alter publication %I drop tables in schema %I', p.pubname, t.schemaname)
            else format('alter publication %I drop table %I.%I', p.pubname, t.schemaname, t.tablename)
       end as remedy
from pg_catalog.pg_publication_tables as t
join pg_catalog.pg_publication as p on p.pubname = t.pubname
where t.schemaname in ('kernel', 'ledger', 'audit')
