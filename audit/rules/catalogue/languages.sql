-- Severity: low
-- Title: Clients can run code of their own in the database
-- Why: With a DO block a client needs no function to burn CPU, or to write lines into the
--   server's log that look like the kernel's. A dump does not keep what was revoked on `sql`.
-- Source: PostgreSQL, DO; GRANT
-- Needs: nothing
select format('language %I', l.lanname) as object,
       'PUBLIC has USAGE' as found,
       -- After a restore it is deployed, and some of it lost.
       case when current_setting('audit.found')::jsonb -> 'superuser'
                ? 'schema fencepost_superuser'
            then format(E'revoke usage on language %1$I from public;\n'
                        'grant usage on language %1$I to fencepost_owner, pg_database_owner',
                        l.lanname)
            else E'-- In a dedicated database, as a superuser:\n'
                 '\\setenv PGDATABASE :DBNAME\n'
                 '\\! superuser/sqitch deploy --verify --target db:pg:'
       end as remedy
from pg_catalog.pg_language as l
cross join pg_catalog.aclexplode(coalesce(l.lanacl, pg_catalog.acldefault('l', l.lanowner))) as a
where a.grantee = 0 and l.lanpltrusted
