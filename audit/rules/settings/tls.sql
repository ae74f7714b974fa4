-- Severity: medium
-- Title: The server listens to the network and has no TLS
-- Why: Passwords are safe under SCRAM; tokens, briefs and bundles go over the wire as they are.
-- Source: PostgreSQL, "Secure TCP/IP Connections with SSL"; CIS PostgreSQL Benchmark
-- Needs: nothing
select s.name as object,
       format('it is off, and listen_addresses is %s', l.setting) as found,
       E'-- With server.crt and server.key in the data folder:\n'
           'alter system set ssl = on;\nselect pg_catalog.pg_reload_conf()' as remedy
from pg_catalog.pg_settings as s
join pg_catalog.pg_settings as l on l.name = 'listen_addresses'
where s.name = 'ssl' and s.setting = 'off'
  and l.setting not in ('', 'localhost', '127.0.0.1', '::1', '127.0.0.1,::1')
