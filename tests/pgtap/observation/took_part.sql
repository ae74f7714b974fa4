-- ledger.took_part: who worked on an attempt, judged it or promoted it does not confirm it.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(11);

create function testing.part(p_principal name, p_attempt_no integer default 1)
    returns boolean
    language sql
as $fn$
    select testing.by(p_principal, format(
        'ledger.took_part(%L, %s, %s)', 'ship', testing.id('parser', 'ship'), p_attempt_no
    ))::boolean
$fn$;

create function testing.parties(p_attempt_no integer default 1)
    returns text
    language sql
as $fn$
    select string_agg(p.principal, ', ' order by p.principal)
               filter (where testing.part(p.principal, p_attempt_no))
    from unnest(array['worker_1', 'worker_2', 'verifier_1', 'verifier_2', 'sensor_1', 'stranger'])
        as p (principal)
$fn$;

select testing.attempted('parser', 'ship');
select is(testing.parties(), 'worker_1', 'its worker took part');
select testing.claim_verification('parser', 'ship');
select is(testing.parties(), 'worker_1', 'who has only looked has not yet');
select testing.judge('accepted', 'parser', 'ship');
select is(testing.parties(), 'verifier_1, worker_1', 'who judged it took part');

-- Another verifier promotes.
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
select testing.must('verifier_2', testing.call('claim_promotion', jsonb_build_object(
    'p_class', 'ship', 'p_token', testing.token('verifier_2'))));
select testing.moved('parser', 'ship', 'verifier_2');
select testing.must('verifier_2', testing.promotion(
    jsonb_build_object('p_token', testing.token('verifier_2'))));
select is(
    testing.parties(), 'verifier_1, verifier_2, worker_1', 'and who promoted it'
);
select is(testing.parties(2), null, 'in another attempt nobody did');

-- A role is who it was: by its OID, and by its name.
alter role worker_1 rename to worker_3;
select is(testing.part('worker_3'), true, 'who has another name since took part');
create role worker_1 login;
select is(testing.part('worker_1'), true, 'as did whoever has the name now');

alter role verifier_2 rename to verifier_3;
create role verifier_2 login;
select is(testing.part('verifier_3'), true, 'so with who promoted it');
select is(testing.part('verifier_2'), true, 'under either name');
alter role verifier_1 rename to verifier_4;
create role verifier_1 login;
select is(testing.part('verifier_4'), true, 'and with who judged it');
select is(testing.part('verifier_1'), true, 'likewise');

select finish();
rollback;
