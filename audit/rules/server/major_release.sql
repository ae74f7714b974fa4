-- Severity: note
-- Title: Fencepost was not tried on this major of PostgreSQL
-- Why: It is tested on 15 and 18, and only of these this audit knows which release is safe.
-- Source: README.md
-- Needs: nothing
select format('PostgreSQL %s', v.major) as object,
       'it is neither 15 nor 18' as found,
       '-- See https://www.postgresql.org/support/security/ for its latest release.' as remedy
from (select current_setting('server_version_num')::integer / 10000) as v (major)
where v.major not in (15, 18)
