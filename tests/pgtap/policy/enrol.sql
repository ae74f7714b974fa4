-- kernel.enrol lets a registered principal act in one class for one duty, and nowhere else.
\ir ../_support/fixture.psql
select plan(31);

select testing.callable_by('kernel.enrol', 'admin');

create function testing.enrolment(p_class text, p_duty text, p_principal name)
    returns ledger.enrolment language sql security definer
as $fn$
    select e from ledger.enrolment as e
    where e.class = p_class and e.duty = p_duty and e.principal = p_principal
$fn$;

create role newcomer login;
grant fencepost_worker, fencepost_sensor to newcomer;
set local session authorization admin_1;
select testing.must('admin_1', $$
    select * from kernel.register_principal(p_principal => 'newcomer')
$$);

-- == what it does =================================================================================

select testing.open('parser', 'ship');
select testing.open();
set local session authorization newcomer;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token()) $$, 'forbidden',
    'kernel.enrol is needed before a registered principal may act'
);
set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.enrol(p_class => 'fix', p_principal => 'newcomer',
                                  p_duty => 'worker') $$,
    $$ values ('ok', false, false, null::text, 'fix', null::bigint, null::bigint, null::text,
               null::timestamptz, null::text) $$,
    'kernel.enrol answers ok, with the class'
);
select row_eq(
    $$ select e.class, e.duty, e.principal, e.principal_oid, e.enrolled_at, e.enrolled_by
       from testing.enrolment('fix', 'worker', 'newcomer') as e $$,
    row('fix'::text, 'worker'::text, 'newcomer'::name, 'newcomer'::regrole::oid,
        timestamptz '2026-09-01 03:00+00', 'admin_1'::name),
    'kernel.enrol keeps name and OID, and who enrolled'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.before, e.after ->> 'duty'
       from testing.config('enrol') as e where e.subject = 'newcomer' $$,
    row('fix'::text, 'newcomer'::text, 'admin_1'::name, null::jsonb, 'worker'::text),
    'kernel.enrol records who enrolled whom'
);
select testing.duplicate(
    $$ select * from kernel.enrol(p_class => 'fix', p_principal => 'newcomer',
                                  p_duty => 'worker') $$,
    'kernel.enrol repeated is a duplicate and writes nothing'
);
set local session authorization newcomer;
select is(
    (select c.campaign_id from kernel.claim(p_class => 'fix', p_token => testing.token()) as c),
    testing.id(), 'kernel.enrol lets the principal act in that class at once'
);
select testing.refused(
    $$ select * from kernel.claim(p_class => 'ship', p_token => testing.token()) $$, 'forbidden',
    'kernel.enrol lets it act in no other class'
);
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token()) $$,
    'forbidden', 'kernel.enrol lets it act for no other duty, though it is in that group too'
);
set local session authorization admin_1;
select lives_ok(
    $$ select * from kernel.enrol(p_class => 'fix', p_principal => 'newcomer',
                                  p_duty => 'sensor') $$,
    'kernel.enrol enrols a principal for a second duty'
);

-- A role made anew.
reset session authorization;
drop role newcomer;
create role newcomer login;
grant fencepost_worker to newcomer;
set local session authorization admin_1;
select testing.raises(
    $$ select * from kernel.enrol(p_class => 'fix', p_principal => 'newcomer',
                                  p_duty => 'worker') $$,
    'KN109', 'principal newcomer is not registered as it is now',
    'kernel.enrol wants a role that was made anew to be registered anew'
);
select testing.must('admin_1', $$
    select * from kernel.register_principal(p_principal => 'newcomer')
$$);
set local session authorization newcomer;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$, 'forbidden',
    'kernel.enrol is needed anew for a role that was made and registered anew'
);
set local session authorization admin_1;
select results_eq(
    $$ select outcome, duplicate
       from kernel.enrol(p_class => 'fix', p_principal => 'newcomer', p_duty => 'worker') $$,
    $$ values ('ok', false) $$, 'kernel.enrol is no duplicate for a role made anew'
);
select is(
    (testing.enrolment('fix', 'worker', 'newcomer')).principal_oid, 'newcomer'::regrole::oid,
    'kernel.enrol takes the new role''s OID'
);

-- == who may ======================================================================================

reset session authorization;
select testing.refused(
    $$ select * from kernel.enrol(p_class => 'fix', p_principal => 'newcomer',
                                  p_duty => 'worker') $$,
    'forbidden', 'kernel.enrol answers forbidden to a superuser'
);
select testing.refused(
    $$ select * from kernel.enrol(p_class => 'no-such-class', p_principal => 'newcomer',
                                  p_duty => 'worker') $$,
    'forbidden', 'kernel.enrol answers forbidden, not unknown, to who is no admin'
);

-- == misuse =======================================================================================

create role indirect login;
create role team;
grant fencepost_worker to team;
grant team to indirect;
create role heirless login noinherit;
grant fencepost_worker to heirless;
select testing.must('admin_1', format(
    'select * from kernel.register_principal(p_principal => %L)', p.name
)) from (values ('indirect'), ('heirless'), ('stranger')) as p (name);

set local session authorization admin_1;
select testing.raises(
    format('select * from kernel.enrol(p_class => %L, p_principal => %L, p_duty => %L)',
           a.class, a.principal, a.duty),
    a.code, a.message, format('kernel.enrol does not take %s', a.what)
)
from (values
    (null, 'worker_1', 'worker', 'KN101', 'argument p_class is null', 'a null class'),
    ('fix', null, 'worker', 'KN101', 'argument p_principal is null', 'a null principal'),
    ('fix', 'worker_1', null, 'KN101', 'argument p_duty is null', 'a null duty'),
    ('Fix', 'worker_1', 'worker', 'KN102', 'p_class is not the name of a class', 'a bad class'),
    ('fix', 'worker_1', 'admin', 'KN102', 'there is no such duty', 'duty admin'),
    ('fix', 'worker_1', 'reaper', 'KN102', 'there is no such duty', 'duty reaper'),
    ('fix', 'worker_1', '', 'KN102', 'there is no such duty', 'an empty duty'),
    ('no-such', 'worker_1', 'worker', 'KN106', 'there is no class no-such', 'an unknown class'),
    ('fix', 'admin_1', 'worker', 'KN109', 'principal admin_1 is not registered as it is now',
     'who is not registered'),
    ('fix', '', 'worker', 'KN102', 'argument p_principal is empty', 'an empty name'),
    ('fix', repeat('x', 64), 'worker', 'KN103', 'argument p_principal is too long',
     'a name longer than any role has'),
    ('fix', 'stranger', 'worker', 'KN115',
     'role stranger is not a direct, inheriting member of fencepost_worker', 'who is no member'),
    ('fix', 'worker_1', 'verifier', 'KN115',
     'role worker_1 is not a direct, inheriting member of fencepost_verifier',
     'who is a member of another group'),
    ('fix', 'indirect', 'worker', 'KN115',
     'role indirect is not a direct, inheriting member of fencepost_worker',
     'an indirect member'),
    ('fix', 'heirless', 'worker', 'KN115',
     'role heirless is not a direct, inheriting member of fencepost_worker',
     'a member that does not inherit')
) as a (class, principal, duty, code, message, what);

reset session authorization;
select finish();
rollback;
