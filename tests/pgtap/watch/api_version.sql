-- kernel.api_version says which kernel this is, to all groups and to nobody else.
\ir ../_support/fixture.psql
select plan(9);

select is(kernel.api_version(), 1, 'is 1');

select testing.callable_by(
    'kernel.api_version', 'admin', 'auditor', 'collector', 'reaper', 'sensor', 'verifier', 'worker'
);

set local session authorization worker_1;
select is(kernel.api_version(), 1, 'answers a worker');
set local session authorization verifier_1;
select is(kernel.api_version(), 1, 'answers a verifier');
set local session authorization reaper_1;
select is(kernel.api_version(), 1, 'answers a reaper');
set local session authorization sensor_1;
select is(kernel.api_version(), 1, 'answers a sensor');
set local session authorization auditor_1;
select is(kernel.api_version(), 1, 'answers an auditor');
set local session authorization worker_elsewhere;
select is(kernel.api_version(), 1, 'asks for no enrolment');

set local session authorization stranger;
select throws_ok(
    'select kernel.api_version()', '42501', null, 'is not there for a role of no group'
);

reset session authorization;
select finish();
rollback;
