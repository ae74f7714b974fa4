-- kernel.classes names the classes that concern the caller, and refuses nobody.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(17);

select testing.callable_by(
    'kernel.classes', 'admin', 'auditor', 'reaper', 'sensor', 'verifier', 'worker'
);
select testing.ledger_digest(true) as before \gset

-- == those who are not of one class ===============================================================

set local session authorization reaper_1;
select results_eq(
    'select * from kernel.classes()', array['elsewhere', 'fix', 'ship'],
    'names all of them, in order, to a reaper'
);
set local session authorization admin_1;
select results_eq(
    'select * from kernel.classes()', array['elsewhere', 'fix', 'ship'], 'to an admin'
);
set local session authorization auditor_1;
select results_eq(
    'select * from kernel.classes()', array['elsewhere', 'fix', 'ship'], 'and to an auditor'
);

-- == those who are enrolled =======================================================================

set local session authorization worker_1;
select results_eq(
    'select * from kernel.classes()', array['fix', 'ship'],
    'names to a worker those that it is enrolled in'
);
set local session authorization verifier_1;
select results_eq('select * from kernel.classes()', array['fix', 'ship'], 'to a verifier');
set local session authorization sensor_1;
select results_eq('select * from kernel.classes()', array['fix', 'ship'], 'to a sensor');
set local session authorization worker_elsewhere;
select results_eq('select * from kernel.classes()', array['elsewhere'], 'and no others');
reset session authorization;

create role nobody login;
grant fencepost_worker to nobody;
set local session authorization nobody;
select is_empty('select * from kernel.classes()', 'names none to one that is enrolled nowhere');
reset session authorization;

-- In two duties, once.
grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'fix', p_principal => 'worker_1', p_duty => 'verifier') $$);
set local session authorization worker_1;
select results_eq(
    'select * from kernel.classes()', array['fix', 'ship'],
    'names a class once to one that has two duties in it'
);
reset session authorization;

-- == as it is now =================================================================================

select testing.must('admin_1', $$ select * from kernel.dismiss(
    p_class => 'ship', p_principal => 'worker_1', p_duty => 'worker') $$);
set local session authorization worker_1;
select results_eq(
    'select * from kernel.classes()', array['fix'], 'names none that it was dismissed from'
);
reset session authorization;

revoke fencepost_worker from worker_2;
create role between_them;
grant fencepost_worker to between_them;
grant between_them to worker_2;
set local session authorization worker_2;
select is_empty(
    'select * from kernel.classes()', 'names none to one whose membership is indirect'
);
reset session authorization;

drop role verifier_1;
create role verifier_1 login;
grant fencepost_verifier to verifier_1;
set local session authorization verifier_1;
select is_empty(
    'select * from kernel.classes()', 'names none to a role that was dropped and made again'
);
reset session authorization;

create role two login;
grant fencepost_worker to two;
grant fencepost_reaper to two;
set local session authorization two;
select results_eq(
    'select * from kernel.classes()', array['elsewhere', 'fix', 'ship'],
    'names all to one that is a reaper besides'
);
reset session authorization;

select is(
    (select count(*) from testing.refusals('nobody')), 0::bigint, 'records no refusal'
);

select is_empty(
    $$ select from ledger.refusal $$, 'of anybody'
);

-- It is read where nothing can be written, too.
select set_config('transaction_read_only', 'on', true);
set local session authorization reaper_1;
select results_eq(
    'select * from kernel.classes()', array['elsewhere', 'fix', 'ship'],
    'answers in a transaction that is read-only'
);
reset session authorization;

select finish();
rollback;
