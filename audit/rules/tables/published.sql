-- Severity: medium
-- Title: A table of ours is published
-- Why: Whoever connects as a replication role receives every change of it, with the hashes of tokens
--   and all that no view shows.
-- Source: PostgreSQL, CREATE PUBLICATION
-- Needs: nothing
select c.oid::regclass::text as object,
       format('it is in publication %I', p.pubname) as found,
       format('alter publication %I drop table %s', p.pubname, c.oid::regclass) as remedy
from pg_catalog.pg_publication as p
join pg_catalog.pg_publication_rel as r on r.prpubid = p.oid
join pg_catalog.pg_class as c on c.oid = r.prrelid
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('kernel', 'ledger', 'audit')
union all
select format('schema %I', n.nspname),
       format('all tables in it are in publication %I', p.pubname),
       format('alter publication %I drop tables in schema %I', p.pubname, n.nspname)
from pg_catalog.pg_publication as p
join pg_catalog.pg_publication_namespace as s on s.pnpubid = p.oid
join pg_catalog.pg_namespace as n on n.oid = s.pnnspid
where n.nspname in ('kernel', 'ledger', 'audit')
union all
select format('database %I', current_database()),
       format('all tables in it are in publication %I', p.pubname),
       format('drop publication %I', p.pubname)
from pg_catalog.pg_publication as p
where p.puballtables
