-- ledger.is_enrolled asks by name, OID and group; ledger.forbid answers who is not.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(22);

create function testing.may(p_principal name, p_class text, p_duty text)
    returns boolean
    language sql
as $fn$
    select testing.by(
        p_principal, format('ledger.is_enrolled(%L, %L)', p_class, p_duty)
    )::boolean
$fn$;

-- == is_enrolled ==================================================================================

select is(
    testing.may(m.principal, m.class, m.duty), m.may,
    format('%s %s act as %s in %s', m.principal, case when m.may then 'may' else 'may not' end,
           m.duty, m.class)
)
from (values
    ('worker_1', 'fix', 'worker', true), ('worker_1', 'ship', 'worker', true),
    ('verifier_1', 'fix', 'verifier', true), ('sensor_1', 'fix', 'sensor', true),
    ('worker_1', 'fix', 'verifier', false), ('worker_1', 'elsewhere', 'worker', false),
    ('worker_elsewhere', 'fix', 'worker', false), ('worker_1', 'none', 'worker', false),
    ('stranger', 'fix', 'worker', false), ('admin_1', 'fix', 'worker', false),
    ('postgres', 'fix', 'worker', false)
) as m (principal, class, duty, may);

grant fencepost_verifier to worker_2;
select is(testing.may('worker_2', 'fix', 'verifier'), false, 'nor who is enrolled for another duty');
revoke fencepost_verifier from worker_2;

revoke fencepost_worker from worker_1;
select is(testing.may('worker_1', 'fix', 'worker'), false, 'nor who has left the group');
grant fencepost_worker to stranger;
grant stranger to worker_1;
select is(testing.may('worker_1', 'fix', 'worker'), false, 'nor who is in it by another role');
revoke stranger from worker_1;
grant fencepost_worker to worker_1;
select is(testing.may('worker_1', 'fix', 'worker'), true, 'who is back in it may');

alter role worker_1 rename to worker_3;
select is(testing.may('worker_3', 'fix', 'worker'), false, 'who has another name may not');
create role worker_1 login in role fencepost_worker;
select is(
    testing.may('worker_1', 'fix', 'worker'), false, 'nor another role that has the name now'
);

select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'fix', 'p_principal', 'worker_2', 'p_duty', 'worker')));
select is(testing.may('worker_2', 'fix', 'worker'), false, 'nor who was dismissed');
select is(testing.may('worker_2', 'ship', 'worker'), true, 'in that class');

-- == forbid =======================================================================================

select is(
    testing.by('stranger', format('ledger.forbid(%L, %L)', 'claim', c.class)),
    jsonb_build_object(
        'outcome', 'forbidden', 'duplicate', false, 'moved', false, 'note', null,
        'class', c.class, 'campaign_id', null, 'generation', null, 'state', null,
        'lease_expires_at', null, 'message', 'this principal may not do this here'
    ),
    format('ledger.forbid says the same of %s', c.class)
)
from unnest(array['fix', 'none']) as c (class);
select results_eq(
    $$ select r.function, r.class, r.outcome from testing.refusals('stranger') as r $$,
    $$ values ('claim', 'fix', 'forbidden'), ('claim', 'none', 'forbidden') $$,
    'and records each'
);

select finish();
rollback;
