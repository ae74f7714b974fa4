-- kernel.register_principal makes a LOGIN role known, with the family that an admin names.
\ir ../_support/fixture.psql
select plan(25);

select testing.callable_by('kernel.register_principal', 'admin');

create function testing.principal(p_principal name) returns ledger.principal
    language sql security definer
as $fn$ select p from ledger.principal as p where p.principal = p_principal $fn$;

create role newcomer login;
create role "Otto's-Büro" login;
create role no_login nologin;
create role chief login superuser;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.register_principal(p_principal => 'newcomer', p_family => 'north') $$,
    $$ values ('ok', false, false, null::text, null::text, null::bigint, null::bigint, null::text,
               null::timestamptz, null::text) $$,
    'kernel.register_principal answers ok'
);
select row_eq(
    $$ select p.principal, p.principal_oid, p.family, p.registered_at, p.registered_by
       from testing.principal('newcomer') as p $$,
    row('newcomer'::name, 'newcomer'::regrole::oid, 'north'::text,
        timestamptz '2026-09-01 03:00+00', 'admin_1'::name),
    'kernel.register_principal keeps the role''s name and OID, and its family'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.before, e.after ->> 'family'
       from testing.config('register_principal') as e where e.subject = 'newcomer' $$,
    row(''::text, 'newcomer'::text, 'admin_1'::name, null::jsonb, 'north'::text),
    'kernel.register_principal records who registered it'
);
select testing.duplicate(
    $$ select * from kernel.register_principal(p_principal => 'newcomer', p_family => 'north') $$,
    'kernel.register_principal repeated is a duplicate and writes nothing'
);
select testing.clock_passes('1 hour');
select lives_ok(
    $$ select * from kernel.register_principal(p_principal => 'newcomer') $$,
    'kernel.register_principal registers another family, or none'
);
select row_eq(
    $$ select p.family, p.registered_at from testing.principal('newcomer') as p $$,
    row(null::text, timestamptz '2026-09-01 04:00+00'),
    'kernel.register_principal replaces what was registered'
);
select row_eq(
    $$ select e.before ->> 'family', e.after ->> 'family'
       from testing.config('register_principal') as e
       where e.subject = 'newcomer' and e.before is not null $$,
    row('north'::text, null::text),
    'kernel.register_principal records from what it was changed'
);
select lives_ok(
    $$ select * from kernel.register_principal(p_principal => 'Otto''s-Büro') $$,
    'kernel.register_principal takes any role''s name as it is'
);
select is(
    (testing.principal('Otto''s-Büro')).principal_oid,
    (select r.oid from pg_roles as r where r.rolname = 'Otto''s-Büro'),
    'kernel.register_principal finds the role of that very name'
);

-- A role made anew.
reset session authorization;
drop role newcomer;
create role newcomer login;
set local session authorization admin_1;
select results_eq(
    $$ select outcome, duplicate from kernel.register_principal(p_principal => 'newcomer') $$,
    $$ values ('ok', false) $$,
    'kernel.register_principal is no duplicate for a role made anew under the old name'
);
select is(
    (testing.principal('newcomer')).principal_oid, 'newcomer'::regrole::oid,
    'kernel.register_principal takes the new role''s OID'
);

-- A family is the one that was registered when the attempt was claimed.
select testing.leased();
select testing.must('admin_1', $$
    select * from kernel.register_principal(p_principal => 'worker_1', p_family => 'south')
$$);
select is(
    (testing.attempt()).family, 'north',
    'kernel.register_principal leaves an attempt the family that it was claimed with'
);

-- == who may ======================================================================================

reset session authorization;
select testing.refused(
    $$ select * from kernel.register_principal(p_principal => 'worker_1', p_family => 'east') $$,
    'forbidden', 'kernel.register_principal answers forbidden to a superuser'
);
set local session authorization worker_1;
select throws_ok(
    $$ select * from kernel.register_principal(p_principal => 'worker_1', p_family => 'east') $$,
    '42501', 'permission denied for function register_principal',
    'kernel.register_principal lets no worker choose its own family'
);

-- == misuse =======================================================================================

set local session authorization admin_1;
select testing.raises(
    format('select * from kernel.register_principal(p_principal => %L, p_family => %L)',
           a.principal, a.family),
    a.code, a.message, format('kernel.register_principal does not take %s', a.what)
)
from (values
    (null, null, 'KN101', 'argument p_principal is null', 'null'),
    ('', null, 'KN102', 'argument p_principal is empty', 'an empty name'),
    (repeat('p', 64), null, 'KN103', 'argument p_principal is too long', 'a name of 64 bytes'),
    ('newcomer', '', 'KN102', 'argument p_family is empty', 'an empty family'),
    ('newcomer', repeat('f', 201), 'KN103', 'argument p_family is too long',
     'a family of 201 bytes'),
    ('nobody at all', null, 'KN109', 'there is no LOGIN role nobody at all', 'a role that is not'),
    ('Newcomer', null, 'KN109', 'there is no LOGIN role Newcomer', 'another spelling'),
    ('no_login', null, 'KN109', 'there is no LOGIN role no_login', 'a role that cannot log in'),
    ('fencepost_worker', null, 'KN109', 'there is no LOGIN role fencepost_worker', 'a group'),
    ('chief', null, 'KN102', 'role chief is a superuser', 'a superuser')
) as a (principal, family, code, message, what);

reset session authorization;
select finish();
rollback;
