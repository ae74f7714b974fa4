-- Every alteration that a deployed database suggests: the key of the object that is altered, and
-- the statement. test_drift.py knows from the key which change made the object, and expects that
-- change's verify script to find the alteration.

with
-- Who might be given what is not theirs: PUBLIC, the groups, and a LOGIN role that is in none.
somebody (name) as (
    values ('public'), ('fencepost_worker'), ('fencepost_verifier'), ('fencepost_reaper'),
           ('fencepost_sensor'), ('fencepost_admin'), ('fencepost_auditor'),
           ('fencepost_collector'), ('deployer')
),
ours (oid, name) as (
    select n.oid, n.nspname from pg_namespace as n
    where n.nspname in ('kernel', 'ledger', 'audit')
),

-- Privileges. Everything that has some: its key, what GRANT calls it, its list, the kind of list.
object (key, named, acl, acl_kind, owner) as (
    select 'function ' || p.oid::regproc, 'function ' || p.oid::regprocedure, p.proacl, 'f',
           p.proowner
    from pg_proc as p join ours as o on o.oid = p.pronamespace
    union all
    select c.relkind::text || ' ' || coalesce(d.refobjid, c.oid)::regclass,
           case c.relkind when 'S' then 'sequence ' else 'table ' end || c.oid::regclass,
           c.relacl, case c.relkind when 'S' then 's' else 'r' end, c.relowner
    from pg_class as c
    join ours as o on o.oid = c.relnamespace
    left join pg_depend as d
        on d.classid = 'pg_class'::regclass and d.objid = c.oid and c.relkind = 'S'
        and d.refclassid = 'pg_class'::regclass
    where c.relkind in ('r', 'v', 'S')
    union all
    select 'type ' || t.oid::regtype, 'type ' || t.oid::regtype, t.typacl, 'T', t.typowner
    from pg_type as t
    join ours as o on o.oid = t.typnamespace
    join pg_class as c on c.oid = t.typrelid and c.relkind = 'c'
    union all
    select 'schema ' || n.nspname, 'schema ' || n.nspname, n.nspacl, 'n', n.nspowner
    from pg_namespace as n join ours as o on o.oid = n.oid
),
entry as (
    select o.key, o.named, a.privilege_type as privilege, coalesce(r.rolname, 'public') as name
    from object as o
    cross join aclexplode(coalesce(o.acl, acldefault(o.acl_kind::"char", o.owner))) as a
    left join pg_roles as r on r.oid = a.grantee
),
privileges (key, statement) as (
    select e.key, format('revoke %s on %s from %s', e.privilege, e.named, e.name) from entry as e
    union all
    select e.key, format('grant %s on %s to %s with grant option', e.privilege, e.named, e.name)
    from entry as e where e.name not in ('public', 'fencepost_owner')
    union all
    select o.key, format('grant %s on %s to %s', d.privilege_type, o.named, s.name)
    from object as o
    cross join aclexplode(acldefault(o.acl_kind::"char", o.owner)) as d
    cross join somebody as s
    where d.grantee = o.owner
      and not exists (
          select from entry as e
          where e.named = o.named and e.name = s.name and e.privilege = d.privilege_type
      )
    union all
    select c.relkind::text || ' ' || c.oid::regclass,
           format('grant %s (%I) on %s to public', p.privilege, a.attname, c.oid::regclass)
    from pg_attribute as a
    join pg_class as c on c.oid = a.attrelid and c.relkind in ('r', 'v')
    join ours as o on o.oid = c.relnamespace
    cross join (values ('select'), ('update')) as p (privilege)
    where a.attnum > 0
    union all
    select o.key, format('alter %s owner to postgres', o.named)
    from object as o where o.named not like 'sequence %'
),

-- Functions.
a_function as (
    select p.*, p.oid::regproc::text as name, p.oid::regprocedure::text as signature
    from pg_proc as p join ours as o on o.oid = p.pronamespace
),
functions (key, statement) as (
    select 'function ' || f.name, a.statement
    from a_function as f
    cross join lateral (
        select format('alter function %s reset %s', f.signature, split_part(s.setting, '=', 1))
        from unnest(f.proconfig) as s (setting)
        union all
        select format('alter function %s set search_path = %s', f.signature, s.path)
        from (values (''''''), ('pg_catalog'), ('public, pg_catalog, pg_temp')) as s (path)
        union all
        select format('alter function %s set work_mem = ''4MB''', f.signature)
        union all
        select format('alter function %s security %s', f.signature,
                      case when f.prosecdef then 'invoker' else 'definer' end)
        union all
        select format('alter function %s %s', f.signature,
                      case f.provolatile when 'v' then 'stable' else 'volatile' end)
        union all
        select format('alter function %s %s', f.signature, w.word)
        from (values ('strict'), ('leakproof'), ('parallel safe'), ('rename to drifted'),
                     ('set schema public')) as w (word)
        union all
        select format('comment on function %s is null', f.signature)
        union all
        select format('create function %s(p_drifted point) returns void language sql as ''''',
                      f.name)
        union all
        select format('drop function %s cascade', f.signature)
    ) as a (statement)
),

-- Tables.
a_table as (
    select c.*, c.oid::regclass::text as name
    from pg_class as c join ours as o on o.oid = c.relnamespace
    where c.relkind = 'r'
),
tables (key, statement) as (
    select 'r ' || t.name, a.statement
    from a_table as t
    cross join lateral (
        select format('alter table %s %s', t.name, w.word)
        from (values ('add drifted text'), ('add constraint drifted check (true)'),
                     ('enable row level security'), ('force row level security'),
                     ('rename to drifted'), ('set schema public')) as w (word)
        union all
        select format('alter table %s %s', t.name, w.word)
        from (values ('set (fillfactor = 100)'), ('reset (autovacuum_vacuum_threshold)'),
                     ('set (autovacuum_enabled = false)')) as w (word)
        where t.reloptions is not null
        union all
        select format('comment on table %s is null', t.name)
        union all
        select format('create rule drifted as on delete to %s do instead nothing', t.name)
        union all
        select format('create table ledger.drifted () inherits (%s)', t.name)
        union all
        select format('create index drifted on %s ((1))', t.name)
        union all
        select format('drop table %s cascade', t.name)
        union all
        select format('alter table %s set unlogged', t.name)
        where not exists (
            select from pg_constraint as k
            where k.contype = 'f' and t.oid in (k.conrelid, k.confrelid)
        )
        union all
        select format('alter table %s rename %I to drifted', t.name, c.attname)
        from pg_attribute as c where c.attrelid = t.oid and c.attnum > 0
        union all
        select format('alter table %s drop %I cascade', t.name, c.attname)
        from pg_attribute as c where c.attrelid = t.oid and c.attnum > 0
        union all
        select format('alter table %s alter %I drop not null', t.name, c.attname)
        from pg_attribute as c
        where c.attrelid = t.oid and c.attnum > 0 and c.attnotnull and c.attidentity = ''
          and not exists (
              select from pg_index as i
              where i.indrelid = t.oid and i.indisprimary and c.attnum = any (i.indkey)
          )
        union all
        select format('alter table %s alter %I set not null', t.name, c.attname)
        from pg_attribute as c where c.attrelid = t.oid and c.attnum > 0 and not c.attnotnull
          -- A row that the plan itself inserts is null there.
          and (t.name, c.attname::text) <> ('ledger.operation_transition', 'is_started')
        union all
        select format('alter table %s alter %I drop %s', t.name, c.attname,
                      case c.attidentity when '' then 'default' else 'identity' end)
        from pg_attribute as c
        where c.attrelid = t.oid and c.attnum > 0 and (c.atthasdef or c.attidentity <> '')
        union all
        select format('alter table %s drop constraint %I cascade', t.name, k.conname)
        from pg_constraint as k where k.conrelid = t.oid and k.contype not in ('n', 't')
        union all
        select format('alter table %s alter constraint %I deferrable', t.name, k.conname)
        from pg_constraint as k where k.conrelid = t.oid and k.contype = 'f'
        union all
        select format('update pg_constraint set convalidated = false where oid = %s', k.oid)
        from pg_constraint as k where k.conrelid = t.oid and k.contype not in ('n', 't')
        union all
        select format('update pg_index set indisvalid = false where indexrelid = %s', i.indexrelid)
        from pg_index as i where i.indrelid = t.oid
        union all
        select format('drop index %s', i.indexrelid::regclass)
        from pg_index as i
        where i.indrelid = t.oid
          and not exists (select from pg_constraint as k where k.conindid = i.indexrelid)
    ) as a (statement)
),

-- Triggers. A stray one, too.
triggers (key, statement) as (
    select 'triggers ' || t.name, a.statement
    from a_table as t
    cross join lateral (
        select format('alter table %s %s trigger %I', t.name, w.word, g.tgname)
        from pg_trigger as g
        cross join (values ('disable'), ('enable'), ('enable replica')) as w (word)
        where g.tgrelid = t.oid and not g.tgisinternal
        union all
        select format('drop trigger %I on %s', g.tgname, t.name)
        from pg_trigger as g where g.tgrelid = t.oid and not g.tgisinternal
        union all
        select format('alter trigger %I on %s rename to drifted', g.tgname, t.name)
        from pg_trigger as g where g.tgrelid = t.oid and not g.tgisinternal
        union all
        select format('%s; alter table %s enable always trigger %I',
                      regexp_replace(replace(pg_get_triggerdef(g.oid), 'CREATE TRIGGER',
                                             'CREATE OR REPLACE TRIGGER'),
                                     'WHEN \(.*\) EXECUTE',
                                     format('WHEN (%s) EXECUTE', w.condition)),
                      t.name, g.tgname)
        from pg_trigger as g
        cross join (values
            ('false'),
            ('current_user <> ''fencepost_owner'''),
            ('current_user <> ''fencepost_owner'' or session_user = ''fencepost_owner'' '
             'or current_setting(''role'') = ''FENCEPOST_OWNER''')
        ) as w (condition)
        where g.tgrelid = t.oid and not g.tgisinternal and g.tgqual is not null
        union all
        select format('alter table %s disable trigger all', t.name)
        where exists (select from pg_trigger as g where g.tgrelid = t.oid)
        union all
        select format('create trigger drifted after insert on %s for each row '
                      'execute function ledger.tg__append_only(); '
                      'alter table %s enable always trigger drifted', t.name, t.name)
    ) as a (statement)
),

-- Types and views.
a_row as (
    select c.*, c.oid::regclass::text as name
    from pg_class as c join ours as o on o.oid = c.relnamespace
    where c.relkind in ('c', 'v')
),
types_and_views (key, statement) as (
    select case c.relkind when 'c' then 'type ' else 'v ' end || c.name, a.statement
    from a_row as c
    cross join lateral (
        select format('alter type %s %s', c.name, w.word)
        from (values ('add attribute drifted text'), ('rename to drifted'), ('set schema public'))
            as w (word)
        where c.relkind = 'c'
        union all
        select format('alter type %s %s', c.name, format(w.word, a.attname))
        from pg_attribute as a
        cross join (values ('drop attribute %I'), ('rename attribute %I to drifted')) as w (word)
        where c.relkind = 'c' and a.attrelid = c.oid and a.attnum > 0
        union all
        select format('alter view %s %s', c.name, w.word)
        from (values ('reset (security_barrier)'), ('set (security_barrier = false)'),
                     ('set (security_invoker = true)'), ('rename to drifted'),
                     ('set schema public')) as w (word)
        where c.relkind = 'v'
        union all
        select format('alter view %s rename %I to drifted', c.name, a.attname)
        from pg_attribute as a where c.relkind = 'v' and a.attrelid = c.oid and a.attnum > 0
        union all
        select format('create rule drifted as on insert to %s do instead nothing', c.name)
        where c.relkind = 'v'
        union all
        select format('comment on %s %s is null', w.word, c.name)
        from (values ('c', 'type'), ('v', 'view')) as w (kind, word) where w.kind = c.relkind::text
        union all
        select format('drop %s %s cascade', w.word, c.name)
        from (values ('c', 'type'), ('v', 'view')) as w (kind, word) where w.kind = c.relkind::text
    ) as a (statement)
),

-- Schemas, what is born in them, the database, the roles.
foundation (key, statement) as (
    select 'schema ' || o.name, a.statement
    from ours as o
    cross join lateral (values
        (format('comment on schema %s is null', o.name)),
        (format('alter schema %s rename to drifted', o.name)),
        (format('drop schema %s cascade', o.name))
    ) as a (statement)
    union all
    select 'schema kernel',
           format('alter default privileges for role fencepost_owner %s grant %s to %s',
                  i.place, w.what, s.name)
    from somebody as s
    cross join (values (''), ('in schema kernel'), ('in schema ledger'), ('in schema audit'))
        as i (place)
    cross join (values ('execute on functions'), ('usage on types'), ('select on tables'),
                       ('usage on sequences')) as w (what)
    union all
    select 'r ledger.origin',
           format('grant temporary on database %I to %s', current_database(), s.name)
    from somebody as s where s.name <> 'deployer'
    union all
    select 'role', format('alter role %I %s', r.rolname, w.word)
    from pg_roles as r
    cross join (values ('login'), ('superuser'), ('createrole'), ('createdb'), ('replication'),
                       ('bypassrls'), ('set search_path = public'), ('rename to drifted'))
        as w (word)
    where r.rolname like 'fencepost\_%'
    union all
    select 'role', format('grant %I to %I', g.rolname, r.rolname)
    from pg_roles as g
    cross join pg_roles as r
    where (g.rolname like 'fencepost\_%' or g.rolname = 'pg_read_all_data')
      and r.rolname like 'fencepost\_%' and g.oid <> r.oid
),

-- What the deployment wrote into its tables. A trigger that stands in the way is put back at once.
data (key, statement) as (
    select 'r ledger.answer', format(
        'alter table ledger.answer disable trigger answer_10_not_by_hand; '
        '%s where code = %L; '
        'alter table ledger.answer enable always trigger answer_10_not_by_hand', w.what, a.code)
    from ledger.answer as a
    cross join (values
        ('delete from ledger.answer'),
        ('update ledger.answer set name = ''drifted'''),
        ('update ledger.answer set meaning = ''''')
    ) as w (what)
    where a.kind <> 'outcome' or w.what not like '%name%'
    union all
    select 'r ledger.transition', format(
        'alter table ledger.transition disable trigger transition_10_append_only; '
        '%s where (transition, from_state, to_state) = (%L, %L, %L); '
        'alter table ledger.transition enable always trigger transition_10_append_only',
        w.what, t.transition, t.from_state, t.to_state)
    from ledger.transition as t
    cross join (values
        ('delete from ledger.transition'),
        ('update ledger.transition set duties = duties || ''{auditor}'''),
        ('update ledger.transition set lease = ''drifted'''),
        ('update ledger.transition set generation_step = generation_step + 1'),
        ('update ledger.transition set to_state = ''drifted''')
    ) as w (what)
    -- The table's own constraints do not let the others in.
    where w.what not like '%lease =%'
    union all
    select 'r ledger.origin',
           'alter table ledger.origin disable trigger origin_10_not_by_hand; '
           'delete from ledger.origin; '
           'alter table ledger.origin enable always trigger origin_10_not_by_hand'
)

select key, statement from privileges
union all
select key, statement from functions
union all
select key, statement from tables
union all
select key, statement from triggers
union all
select key, statement from types_and_views
union all
select key, statement from foundation
union all
select key, statement from data;
