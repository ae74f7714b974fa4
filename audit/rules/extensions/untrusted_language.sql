-- Severity: medium
-- Title: The database has a language that reaches the server's account
-- Why: A function in it can read the server's files and start programs, whoever calls it.
-- Source: PostgreSQL, CREATE LANGUAGE
-- Needs: nothing
select format('language %I', l.lanname) as object,
       'it is not trusted' as found,
       coalesce('drop extension ' || quote_ident(x.extname),
                'drop language ' || quote_ident(l.lanname)) as remedy
from pg_catalog.pg_language as l
left join pg_catalog.pg_depend as d
    on d.classid = 'pg_catalog.pg_language'::regclass and d.objid = l.oid
    and d.refclassid = 'pg_catalog.pg_extension'::regclass
left join pg_catalog.pg_extension as x on x.oid = d.refobjid
where l.lanispl and not l.lanpltrusted
