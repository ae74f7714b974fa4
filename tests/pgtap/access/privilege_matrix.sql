-- Who may call what, and who may read what. A function or view that is missing here, or open to one
-- role more than here, fails: all that a caller can reach is on this page.

begin;
select plan(5);

select bag_eq(
    $$ select n.nspname || '.' || p.proname, r.rolname::text
       from pg_proc as p
       join pg_namespace as n on n.oid = p.pronamespace
       cross join pg_roles as r
       where n.nspname in ('kernel', 'ledger', 'audit')
         and r.rolname like 'fencepost\_%' and r.rolname <> 'fencepost_owner'
         and has_schema_privilege(r.oid, n.oid, 'usage')
         and has_function_privilege(r.oid, p.oid, 'execute') $$,
    $$ select f.name, 'fencepost_' || g.name
       from (values
           ('kernel.claim',              'worker'),
           ('kernel.claim_many',         'worker'),
           ('kernel.brief',              'worker'),
           ('kernel.submit',             'worker'),
           ('kernel.fail',               'worker'),
           ('kernel.release',            'worker'),
           ('kernel.renew',              'worker verifier'),
           ('kernel.begin_operation',    'worker verifier'),
           ('kernel.start_operation',    'worker verifier'),
           ('kernel.complete_operation', 'worker verifier'),
           ('kernel.fail_operation',     'worker verifier'),
           ('kernel.mark_operation_unknown', 'worker verifier'),
           ('kernel.renew_operation',    'worker verifier'),
           ('kernel.release_operation',  'worker verifier'),
           ('kernel.resolve_operation',  'worker verifier admin'),
           ('kernel.get_operation',      'worker verifier admin'),
           ('kernel.list_operations',    'worker verifier admin'),
           ('kernel.operation_history',  'worker verifier admin'),
           ('kernel.claim_verification', 'verifier'),
           ('kernel.bundle',             'verifier'),
           ('kernel.judge',              'verifier'),
           ('kernel.claim_promotion',    'verifier'),
           ('kernel.promote',            'verifier'),
           ('kernel.outdate',            'verifier'),
           ('kernel.reap',               'reaper'),
           ('kernel.expire_operations',  'reaper'),
           ('kernel.prune_operations',   'reaper'),
           ('kernel.begin_observation',  'sensor'),
           ('kernel.report_observation', 'sensor'),
           ('kernel.define_class',       'admin'),
           ('kernel.define_target',      'admin'),
           ('kernel.register_principal', 'admin'),
           ('kernel.enrol',              'admin'),
           ('kernel.authorise',          'admin'),
           ('kernel.deauthorise',        'admin'),
           ('kernel.dismiss',            'admin'),
           ('kernel.open_campaign',      'admin'),
           ('kernel.park',               'admin'),
           ('kernel.redrive',            'admin'),
           ('kernel.cancel',             'admin'),
           ('kernel.set_priority',       'admin'),
           ('kernel.allow_repeat',       'admin'),
           ('kernel.pause',              'admin'),
           ('kernel.resume',             'admin'),
           ('kernel.retire_target',      'admin'),
           ('kernel.retire_class',       'admin'),
           ('kernel.new_epoch',          'admin'),
           ('kernel.prune',              'admin'),
           ('kernel.health',             'admin auditor'),
           ('kernel.explain',            'admin auditor'),
           ('kernel.exercise_report',    'admin auditor'),
           ('kernel.checkpoint',         'reaper auditor'),
           ('kernel.check',              'auditor'),
           ('kernel.report_denial',      'collector'),
           ('kernel.api_version',        'worker verifier reaper sensor admin auditor collector'),
           ('kernel.classes',            'worker verifier reaper sensor admin auditor'),
           ('kernel.next_due',           'worker verifier reaper sensor admin auditor'),
           ('kernel.ring',               'worker verifier reaper sensor admin auditor')
       ) as f (name, groups)
       cross join lateral regexp_split_to_table(f.groups, ' ') as g (name) $$,
    'each group reaches exactly the functions listed'
);
select bag_eq(
    $$ select c.oid::regclass::text, r.rolname::text, p.privilege
       from pg_class as c
       join pg_namespace as n on n.oid = c.relnamespace
       cross join pg_roles as r
       cross join (values ('select'), ('insert'), ('update'), ('references'), ('delete'),
                          ('truncate'), ('trigger')) as p (privilege)
       where n.nspname in ('kernel', 'ledger', 'audit') and c.relkind in ('r', 'v', 'm', 'p', 'f')
         and r.rolname like 'fencepost\_%' and r.rolname <> 'fencepost_owner'
         and case
             when p.privilege in ('select', 'insert', 'update', 'references')
             then has_any_column_privilege(r.oid, c.oid, p.privilege)
             else has_table_privilege(r.oid, c.oid, p.privilege)
         end $$,
    $$ values ('audit.campaigns',    'fencepost_auditor', 'select'),
              ('audit.attempts',     'fencepost_auditor', 'select'),
              ('audit.bundles',      'fencepost_auditor', 'select'),
              ('audit.observations', 'fencepost_auditor', 'select'),
              ('audit.events',       'fencepost_auditor', 'select'),
              ('audit.refusals',     'fencepost_auditor', 'select'),
              ('audit.enrolments',   'fencepost_auditor', 'select'),
              ('audit.config',       'fencepost_auditor', 'select'),
              ('audit.operations',   'fencepost_auditor', 'select'),
              ('audit.operation_events', 'fencepost_auditor', 'select'),
              ('audit.authorities',  'fencepost_auditor', 'select') $$,
    'no group touches a relation but the auditors, who read the views'
);
select bag_eq(
    $$ select n.nspname::text, r.rolname::text, p.privilege
       from pg_namespace as n
       cross join pg_roles as r
       cross join (values ('usage'), ('create')) as p (privilege)
       where n.nspname in ('kernel', 'ledger', 'audit')
         and r.rolname like 'fencepost\_%' and r.rolname <> 'fencepost_owner'
         and has_schema_privilege(r.oid, n.oid, p.privilege) $$,
    $$ values ('kernel', 'fencepost_worker',   'usage'),
              ('kernel', 'fencepost_verifier', 'usage'),
              ('kernel', 'fencepost_reaper',   'usage'),
              ('kernel', 'fencepost_sensor',   'usage'),
              ('kernel', 'fencepost_admin',    'usage'),
              ('kernel', 'fencepost_auditor',  'usage'),
              ('kernel', 'fencepost_collector', 'usage'),
              ('audit',  'fencepost_auditor',  'usage') $$,
    'each group enters the kernel, auditors enter audit, and nobody the ledger'
);
select is_empty(
    $$ select c.oid::regclass, r.rolname
       from pg_class as c
       join pg_namespace as n on n.oid = c.relnamespace
       cross join pg_roles as r
       where n.nspname = 'ledger' and c.relkind = 'S'
         and r.rolname like 'fencepost\_%' and r.rolname <> 'fencepost_owner'
         and has_sequence_privilege(r.oid, c.oid, 'usage, select, update') $$,
    'no group advances or reads a sequence'
);
select is_empty(
    $$ select o.kind, o.name, a.privilege_type
       from (
           select 'function', p.oid::regprocedure::text,
                  coalesce(p.proacl, acldefault('f', p.proowner)), p.pronamespace
           from pg_proc as p
           union all
           select 'relation', c.oid::regclass::text,
                  coalesce(c.relacl, acldefault('r', c.relowner)), c.relnamespace
           from pg_class as c where c.relkind in ('r', 'v', 'S')
           union all
           select 'type', t.oid::regtype::text, t.typacl, t.typnamespace
           from pg_type as t
           union all
           select 'schema', n.nspname, coalesce(n.nspacl, acldefault('n', n.nspowner)), n.oid
           from pg_namespace as n
       ) as o (kind, name, acl, namespace)
       cross join lateral aclexplode(o.acl) as a
       where o.namespace in ('kernel'::regnamespace, 'ledger'::regnamespace, 'audit'::regnamespace)
         and (a.grantee = 0 or a.is_grantable) $$,
    'PUBLIC is given nothing, and nobody may give on'
);

select finish();
rollback;
