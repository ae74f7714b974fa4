-- kernel.fail_operation records that an effect has not happened and will not.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(30);

select testing.callable_by('kernel.fail_operation', 'worker', 'verifier');
select testing.allows_operations('fix');

select testing.posted('started');
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, moved, operation_state, revision, result, result_text, '
           'reason, read_back, lease_expires_at from (%s) as f',
           testing.on_operation('fail_operation', '{"p_reason": "402", "p_result": {"code": 402},
                                                    "p_result_text": "no money"}')),
    $$ values ('ok'::text, false, true, 'failed'::text, 3, '{"code": 402}'::jsonb,
               'no money'::text, '402'::text, null::jsonb, null::timestamptz) $$,
    'it has failed, why and with what result'
);
select testing.duplicate(
    testing.on_operation('fail_operation', '{"p_reason": "402", "p_result": {"code": 402},
                                             "p_result_text": "no money"}'),
    'D11: repeated it is a duplicate'
);
select testing.refused(
    testing.on_operation('fail_operation', '{"p_reason": "402", "p_result": {"code": 402},
                                             "p_result_text": "no money"}'::jsonb || c.change),
    'stale', 'with another ' || c.what || ' it is stale'
)
from (values
    ('{"p_reason": "500"}'::jsonb, 'reason'), ('{"p_result": null}', 'result'),
    ('{"p_result_text": null}', 'text')
) as c (change, what);
select testing.refused(
    testing.on_operation('complete_operation'), 'stale', 'and it cannot be completed'
);
reset session authorization;
select results_eq(
    'select * from testing.steps()',
    array['1 begin: none to pending', '2 start: pending to pending', '3 fail: pending to failed'],
    'as the history says'
);

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation(
        'fail_operation', '{"p_reason": "another"}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('pending', 'ok failed 2 moved'), ('started', 'ok failed 3 started moved'),
    ('completed', 'stale'), ('failed', 'stale'), ('released', 'stale'), ('unknown', 'illegal')
) as s (state, told);

select testing.posted('started', 'late');
select testing.clock_passes('1 hour');
select is(
    testing.told('worker_1', testing.on_operation('fail_operation', '{}', 'late')),
    'ok failed 3 started moved', 'D02: it may be late, while nobody has come'
);
select row_eq(
    $$ select e.is_late from ledger.operation_event as e
       where e.operation_key = 'late' and e.event = 'fail' $$,
    row(true), 'which its event says'
);
select testing.leased();
select testing.pushed('started') as key \gset
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}'));
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('fail_operation', '{}', :'key', 'fix', 'of push'), 'illegal',
    'after its lease ended nobody knows: it is resolved, by who made sure'
);
reset session authorization;

select testing.posted('started', 'mine');
select testing.refused(
    testing.on_operation('fail_operation', '{}', 'mine'), 'forbidden', 'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('fail_operation', '{}', 'mine'), 'forbidden',
    'and to who is of another class'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('fail_operation', '{}', 'mine'), 'not_holder', 'nobody else fails it'
);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('fail_operation', m.changes, 'mine'), m.code, m.message, 'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": "nothing"}', 'KN116', null, 'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    ('{"p_reason": null}', 'KN101', 'argument p_reason is null', 'a reason'),
    ('{"p_reason": " "}', 'KN102', 'argument p_reason is empty', 'D08: one that says something'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'D14: in 4096 bytes'),
    (jsonb_build_object('p_result', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a result of 65536 bytes'),
    (jsonb_build_object('p_result_text', repeat('x', 65537)), 'KN103', null, 'a text of as many')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
