-- What holds of every function, table, type and view, so that no single one's test must repeat it.

begin;
select plan(21);

create temporary view every_function as
select p.oid::regprocedure as signature, p.*, n.nspname, l.lanname,
       n.nspname = 'kernel' as is_kernel, p.prorettype = 'trigger'::regtype as is_trigger
from pg_proc as p
join pg_namespace as n on n.oid = p.pronamespace
join pg_language as l on l.oid = p.prolang
where n.nspname in ('kernel', 'ledger', 'audit');

select isnt_empty('select from every_function', 'there are functions to look at');
select is_empty(
    $$ select signature from every_function where proowner <> 'fencepost_owner'::regrole $$,
    'every function belongs to fencepost_owner'
);
select is_empty(
    $$ select oid::regclass from pg_class
       where relnamespace in ('kernel'::regnamespace, 'ledger'::regnamespace, 'audit'::regnamespace)
         and relowner <> 'fencepost_owner'::regrole $$,
    'every relation belongs to fencepost_owner'
);
select is_empty(
    $$ select signature from every_function where prosecdef <> (is_kernel or is_trigger) $$,
    'kernel and trigger functions run with their owner''s rights, helpers with their caller''s'
);
select is_empty(
    $$ select f.signature, array(select s from unnest(f.proconfig) as s order by s collate "C")
       from every_function as f
       where f.prosecdef
         and array(select s from unnest(f.proconfig) as s order by s collate "C") is distinct from
             array['DateStyle=ISO, MDY', 'IntervalStyle=postgres', 'TimeZone=UTC',
                   'bytea_output=hex', 'client_min_messages=warning', 'lock_timeout=5s',
                   'search_path=pg_catalog, pg_temp', 'standard_conforming_strings=on'] $$,
    'every definer pins its search_path, the meaning of its literals, and what it tells the client'
);
select is_empty(
    $$ select signature from every_function
       where not prosecdef
         and proconfig is distinct from array['search_path=pg_catalog, pg_temp'] $$,
    'every helper pins its search_path'
);
select is_empty(
    $$ select signature from every_function
       where prosecdef and (lanname <> 'plpgsql' or provolatile <> 'v')
          or lanname not in ('plpgsql', 'sql')
          or proisstrict or proleakproof or proparallel <> 'u' $$,
    'every definer is volatile PL/pgSQL; no function is strict, leakproof or parallel'
);
select is_empty(
    $$ select nspname, proname from every_function group by nspname, proname having count(*) > 1 $$,
    'no name stands for two functions'
);
select is_empty(
    $$ select f.signature, a.type::regtype
       from every_function as f
       cross join lateral unnest(f.proargtypes) as a (type)
       join pg_type as t on t.oid = a.type
       where t.typtype = 'p' or t.oid = 'refcursor'::regtype $$,
    'no function takes a polymorphic, record or cursor argument'
);
select is_empty(
    $$ select f.signature, a.type::regtype
       from every_function as f
       cross join lateral unnest(f.proargtypes) as a (type)
       where f.is_kernel
         and a.type in ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype,
                        'time'::regtype, 'timetz'::regtype)
         -- A page goes on after the row before, of which the ledger told the time.
         and f.signature::regproc <> 'kernel.list_operations'::regproc
         -- When the server's log says that it was; the kernel's own time stands beside it.
         and f.signature::regproc <> 'kernel.report_denial'::regproc $$,
    'no kernel function is told a time: its callers name durations, and the clock is the server''s'
);
select is_empty(
    $$ select c.oid::regclass, a.attname
       from pg_class as c
       join pg_attribute as a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace in ('ledger'::regnamespace, 'audit'::regnamespace)
         and a.atttypid in ('timestamp'::regtype, 'date'::regtype, 'timetz'::regtype) $$,
    'every time that is kept is one moment, whatever the session''s zone'
);
select is_empty(
    $$ select c.oid::regclass::text from pg_class as c
       where c.relowner = 'fencepost_owner'::regrole
         and c.relnamespace not in ('kernel'::regnamespace, 'ledger'::regnamespace,
                                    'audit'::regnamespace, 'pg_toast'::regnamespace)
       union all
       select p.oid::regprocedure::text from pg_proc as p
       where p.proowner = 'fencepost_owner'::regrole
         and p.pronamespace not in ('kernel'::regnamespace, 'ledger'::regnamespace) $$,
    'nothing of the kernel''s stands in any other schema, public least of all'
);
select is_empty(
    $$ select c.oid::regclass::text from pg_class as c
       where c.relowner = 'fencepost_owner'::regrole
         and (c.relkind in ('p', 'I') or c.relispartition) $$,
    'no table is partitioned'
);
select ok(
    not pg_has_role('fencepost_owner', 'pg_signal_backend', 'member'),
    'the owner may end nobody''s session'
);
select is_empty(
    $$ select f.signature, a.name
       from every_function as f
       cross join lateral unnest(f.proargnames, f.proargmodes) as a (name, mode)
       where f.proargmodes is not null or a.name !~ '^p_' $$,
    'every function has in-parameters only, named p_'
);
select is_empty(
    $$ select t.tgname, t.tgrelid::regclass, t.tgfoid::regproc
       from pg_trigger as t
       join pg_class as c on c.oid = t.tgrelid
       where c.relnamespace = 'ledger'::regnamespace and not t.tgisinternal
         and (t.tgenabled <> 'A' or t.tgdeferrable or t.tgconstraint <> 0
              or t.tgfoid not in (select f.oid from every_function as f where f.is_trigger)) $$,
    'every trigger fires always, at once, and calls a trigger function of the ledger'
);
select is_empty(
    $$ select f.signature from every_function as f
       where f.is_trigger and f.oid not in (select t.tgfoid from pg_trigger as t) $$,
    'every trigger function is some trigger''s'
);
select is_empty(
    $$ select c.conrelid::regclass, c.conname from pg_constraint as c
       where c.connamespace = 'ledger'::regnamespace
         and (c.condeferrable or not c.convalidated) $$,
    'every constraint is validated, and none is deferrable'
);
select is_empty(
    $$ select signature::text from every_function
       where coalesce(obj_description(oid, 'pg_proc'), '') = ''
       union all
       select c.oid::regclass::text from pg_class as c
       where c.relnamespace in ('kernel'::regnamespace, 'ledger'::regnamespace,
                                'audit'::regnamespace)
         and c.relkind in ('r', 'v', 'c')
         and coalesce(obj_description(c.oid, 'pg_class'),
                      obj_description(c.reltype, 'pg_type'), '') = '' $$,
    'every function, table, type and view is documented'
);
select is_empty(
    $$ select f.signature, a.name
       from every_function as f
       cross join lateral unnest(f.proargnames) as a (name)
       where f.is_kernel
         and obj_description(f.oid, 'pg_proc') !~ ('\m' || a.name || '\M')
         and a.name not in ('p_class', 'p_campaign_id', 'p_generation', 'p_token') $$,
    'every kernel function''s comment speaks of each of its own parameters'
);

-- plpgsql_check is C and packaged for PostgreSQL 15 only. The bodies are the same on every major.
select current_setting('server_version_num')::integer / 10000 = 15 as has_plpgsql_check \gset
\if :has_plpgsql_check
select is_empty(
    $$ select f.signature, c.lineno, c.level, c.message
       from every_function as f
       left join pg_trigger as t on t.tgfoid = f.oid and not t.tgisinternal
       cross join lateral plpgsql_check_function_tb(
           f.oid, coalesce(t.tgrelid, 0),
           extra_warnings => true, performance_warnings => true, security_warnings => true
       ) as c
       where f.lanname = 'plpgsql'
         -- The header of every kernel function is volatile throughout.
         and not (f.is_kernel and c.message like 'routine is marked as VOLATILE, should be %') $$,
    'plpgsql_check finds nothing in any body'
);
\else
select skip('plpgsql_check is not packaged for this major; the run on 15 has it', 1);
\endif

select finish();
rollback;
