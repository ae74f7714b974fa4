-- Every alteration of what superuser/ deploys that the catalogue suggests: the change whose verify
-- script has to find it, and the statement.

with
somebody (name) as (
    values ('public'), ('fencepost_worker'), ('fencepost_reaper'), ('fencepost_admin'),
           ('fencepost_auditor'), ('deployer')
),
dieted (change, privilege, object, acl, owner) as (
    select case when p.proname ~ ('^(lo_.*|loread|lowrite|pg_(try_)?advisory_.*'
                                  || '|pg_logical_emit_message|pg_(terminate|cancel)_backend)$')
                then 'diet/functions' else 'diet/activity' end,
           'execute', 'function ' || p.oid::regprocedure,
           coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner
    from pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace
      and p.proname ~ ('^(lo_.*|loread|lowrite|pg_(try_)?advisory_.*|pg_logical_emit_message'
                       || '|pg_(terminate|cancel)_backend|pg_stat_get_(activity|backend_.*)'
                       || '|pg_lock_status|pg_(safe_snapshot_)?blocking_pids)$')
    union all
    select 'diet/activity', 'select', c.oid::regclass::text, c.relacl, c.relowner
    from pg_class as c where c.oid in ('pg_stat_activity'::regclass, 'pg_locks'::regclass)
    union all
    select 'diet/languages', 'usage', 'language ' || l.lanname, l.lanacl, l.lanowner
    from pg_language as l where l.lanpltrusted
)

select d.change, format('grant %s on %s to %s', d.privilege, d.object, s.name)
from dieted as d cross join somebody as s
union all
select d.change, format('revoke %s on %s from %s', d.privilege, d.object, a.grantee::regrole)
from dieted as d
cross join aclexplode(d.acl) as a
where a.grantee <> d.owner
union all
select d.change, format('grant %s on %s to %s with grant option', d.privilege, d.object,
                        a.grantee::regrole)
from dieted as d
cross join aclexplode(d.acl) as a
where a.grantee <> d.owner
union all
select 'foundation/schema', format(w.word, s.name)
from somebody as s
cross join (values
    ('grant usage on schema fencepost_superuser to %s'),
    ('grant create on schema fencepost_superuser to %s'),
    ('grant insert on fencepost_superuser.restoration to %s'),
    ('grant select (statement) on fencepost_superuser.restoration to %s'),
    ('grant execute on function fencepost_superuser.restore(text) to %s')
) as w (word)
union all
select 'watchdog/evict', format(w.word, s.name)
from somebody as s
cross join (values
    ('grant create on schema watchdog to %s'),
    ('grant usage on type watchdog.eviction to %s')
) as w (word)
union all
select 'watchdog/evict', format(w.word, s.name)
from somebody as s
cross join (values
    ('grant execute on function watchdog.evict(interval) to %s'),
    ('grant usage on schema watchdog to %s')
) as w (word)
where s.name not in ('fencepost_reaper', 'fencepost_admin')
union all
select 'watchdog/evict', format('grant fencepost_watchdog to %s', s.name)
from somebody as s where s.name <> 'public'
union all
values
('foundation/schema', 'alter schema fencepost_superuser owner to deployer'),
('foundation/schema', 'alter table fencepost_superuser.restoration owner to deployer'),
('foundation/schema', 'alter table fencepost_superuser.restoration add drifted text'),
('foundation/schema', 'alter table fencepost_superuser.restoration drop statement'),
('foundation/schema', 'create table fencepost_superuser.drifted (a int)'),
('foundation/schema', 'create rule drifted as on delete to fencepost_superuser.restoration '
                      'do instead nothing'),
('foundation/schema', 'alter function fencepost_superuser.restore(text) security definer'),
('foundation/schema', 'alter function fencepost_superuser.restore(text) reset search_path'),
('foundation/schema', 'alter function fencepost_superuser.restore(text) owner to deployer'),
('foundation/schema', 'drop function fencepost_superuser.restore(text)'),
('foundation/schema', 'create function fencepost_superuser.drifted() returns void '
                      'language sql as $$ $$'),
('foundation/schema', 'comment on schema fencepost_superuser is null'),
('guard/client_ddl', 'alter event trigger fencepost_client_ddl disable'),
('guard/client_ddl', 'alter event trigger fencepost_client_ddl enable'),
('guard/client_ddl', 'alter event trigger fencepost_client_ddl enable replica'),
('guard/client_ddl', 'alter event trigger fencepost_client_ddl rename to drifted'),
('guard/client_ddl', 'drop event trigger fencepost_client_ddl'),
('guard/client_ddl', 'drop event trigger fencepost_client_ddl; create event trigger '
    'fencepost_client_ddl on ddl_command_start when tag in (''CREATE TABLE'') '
    'execute function fencepost_superuser.tg__refuse_client_ddl(); '
    'alter event trigger fencepost_client_ddl enable always'),
('guard/client_ddl', 'drop event trigger fencepost_client_ddl; create event trigger '
    'fencepost_client_ddl on ddl_command_end '
    'execute function fencepost_superuser.tg__refuse_client_ddl(); '
    'alter event trigger fencepost_client_ddl enable always'),
('guard/client_ddl', 'comment on event trigger fencepost_client_ddl is null'),
('guard/client_ddl',
 'alter function fencepost_superuser.tg__refuse_client_ddl() owner to deployer'),
('guard/client_ddl', 'alter function fencepost_superuser.tg__refuse_client_ddl() security definer'),
('guard/client_ddl',
 'alter function fencepost_superuser.tg__refuse_client_ddl() reset search_path'),
('guard/client_ddl',
 'grant execute on function fencepost_superuser.tg__refuse_client_ddl() to deployer'),
('guard/client_ddl', 'comment on function fencepost_superuser.tg__refuse_client_ddl() is null'),
('watchdog/evict', 'alter role fencepost_watchdog login'),
('watchdog/evict', 'alter role fencepost_watchdog createrole'),
('watchdog/evict', 'alter role fencepost_watchdog superuser'),
('watchdog/evict', 'alter role fencepost_watchdog set work_mem = ''4MB'''),
('watchdog/evict', 'alter role fencepost_watchdog rename to drifted'),
('watchdog/evict', 'grant fencepost_owner to fencepost_watchdog'),
('watchdog/evict', 'grant pg_read_all_data to fencepost_watchdog'),
('watchdog/evict', 'revoke pg_signal_backend from fencepost_watchdog'),
('watchdog/evict', 'revoke pg_read_all_stats from fencepost_watchdog'),
('watchdog/evict', 'grant pg_signal_backend to fencepost_watchdog with admin option'),
('watchdog/evict', 'alter schema watchdog owner to deployer'),
('watchdog/evict', 'revoke usage on schema watchdog from fencepost_reaper'),
('watchdog/evict', 'revoke usage on schema watchdog from fencepost_watchdog'),
('watchdog/evict', 'comment on schema watchdog is null'),
('watchdog/evict', 'create function watchdog.drifted() returns void language sql as $$ $$'),
('watchdog/evict', 'alter function kernel.health() owner to fencepost_watchdog'),
('watchdog/evict', 'alter function watchdog.evict(interval) owner to postgres'),
('watchdog/evict', 'alter function watchdog.evict(interval) security invoker'),
('watchdog/evict', 'alter function watchdog.evict(interval) reset search_path'),
('watchdog/evict', 'alter function watchdog.evict(interval) reset client_min_messages'),
('watchdog/evict', 'alter function watchdog.evict(interval) set work_mem = ''4MB'''),
('watchdog/evict', 'alter function watchdog.evict(interval) stable'),
('watchdog/evict', 'alter function watchdog.evict(interval) strict'),
('watchdog/evict', 'alter function watchdog.evict(interval) rename to drifted'),
('watchdog/evict', 'revoke execute on function watchdog.evict(interval) from fencepost_admin'),
('watchdog/evict',
 'grant execute on function watchdog.evict(interval) to fencepost_admin with grant option'),
('watchdog/evict', 'comment on function watchdog.evict(interval) is null'),
('watchdog/evict', 'alter type watchdog.eviction add attribute drifted text'),
('watchdog/evict', 'alter type watchdog.eviction rename attribute pid to drifted');
