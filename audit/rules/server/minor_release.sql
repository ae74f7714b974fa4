-- Severity: high
-- Title: The server is below the release that mended known memory faults
-- Why: Every role that may send SQL can reach them, and no grant stands before a memory fault.
-- Source: CVE-2026-14680, CVE-2026-16239, CVE-2026-6460; mended in 15.20 and 18.7
-- Needs: nothing
select format('PostgreSQL %s.%s', v.major, v.minor) as object,
       format('%s.%s mends what is known', v.major, m.minor) as found,
       format('-- Install %s.%s or newer and restart; a dump is not needed.', v.major, m.minor)
           as remedy
from (
    select current_setting('server_version_num')::integer / 10000,
           current_setting('server_version_num')::integer % 10000
) as v (major, minor)
join (values (15, 20), (18, 7)) as m (major, minor) on m.major = v.major
where v.minor < m.minor
