-- kernel.operation_history shows what happened to an operation, oldest first.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(10);

select testing.callable_by('kernel.operation_history', 'worker', 'verifier', 'admin');
select testing.allows_operations('fix');
select testing.clock() as now \gset
select testing.posted('pending');
select testing.clock_passes('15 minutes');
select testing.must('worker_2', testing.posting(
    jsonb_build_object('p_operation_token', testing.token('of worker_2'))));
select testing.as_if_committed();
select testing.must('worker_2', testing.on_operation('start_operation', '{}', 'pay-1', 'fix',
                                                     'of worker_2'));
select testing.clock_passes('15 minutes');
select testing.must('worker_2', testing.on_operation(
    'mark_operation_unknown', '{"p_reason": "cut", "p_diagnostic": {"request": 1}}', 'pay-1', 'fix',
    'of worker_2'));
select testing.must('worker_1', testing.resolving('still_unknown', '{"p_reason": "no answer"}'));
select testing.must('worker_1', testing.resolving('completed', '{"p_reason": "it is there"}'));
set local session authorization verifier_1;
select results_eq(
    $$ select * from kernel.operation_history('fix', 'pay-1') $$,
    format($$
        select h.event_no, (testing.operation()).incarnation, h.revision, h.event, h.from_state,
               h.to_state, h.by_principal, h.reason, h.diagnostic, h.is_late,
               %L::timestamptz + h.after
        from (values
            (1::bigint, 1, 'begin'::text, 'none'::text, 'pending'::text, 'worker_1'::name,
             null::text, null::jsonb, false, interval '0'),
            (2, 2, 'take_over', 'pending', 'pending', 'worker_2', null, null, false, '15 min'),
            (3, 3, 'start', 'pending', 'pending', 'worker_2', null, null, false, '15 min'),
            (4, 4, 'mark_unknown', 'pending', 'unknown', 'worker_2', 'cut', '{"request": 1}', true,
             '30 min'),
            (5, 5, 'inquire', 'unknown', 'unknown', 'worker_1', 'no answer', '{"request": 1}',
             false, '30 min'),
            (6, 6, 'resolve', 'unknown', 'completed', 'worker_1', 'it is there',
             '{"request": 1}', false, '30 min')
        ) as h (event_no, revision, event, from_state, to_state, by_principal, reason, diagnostic,
                is_late, after) $$, :'now'),
    'D17: every move, by whom, why, and whether it was late'
);
select is_empty(
    $$ select from kernel.operation_history('fix', 'nothing') $$, 'none where there is none'
);
set local session authorization admin_1;
select isnt_empty(
    $$ select from kernel.operation_history('fix', 'pay-1') $$, 'an admin may look'
);
set local session authorization worker_elsewhere;
select is_empty(
    $$ select from kernel.operation_history('fix', 'pay-1') $$,
    'who is not of the class sees nothing'
);
reset session authorization;
select is_empty(
    $$ select from kernel.operation_history('fix', 'pay-1') $$, 'nor does a superuser'
);
set local session authorization worker_1;
select testing.raises(
    testing.call('operation_history', '{"p_class": "fix", "p_operation_key": "x"}'::jsonb
        || m.changes),
    m.code, m.message, 'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": ""}', 'KN102', null, 'one that is not empty'),
    (jsonb_build_object('p_operation_key', repeat('x', 513)), 'KN103', null, 'of 512 bytes')
) as m (changes, code, message, what);
reset session authorization;
select finish();
rollback;
