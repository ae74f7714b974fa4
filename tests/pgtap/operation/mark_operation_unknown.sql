-- kernel.mark_operation_unknown records that nobody knows; the age of a lease is no hindrance.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(29);

select testing.callable_by('kernel.mark_operation_unknown', 'worker', 'verifier');
select testing.allows_operations('fix');

select testing.posted('started');
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, moved, operation_state, revision, diagnostic, result, '
           'reason, lease_expires_at from (%s) as f',
           testing.on_operation('mark_operation_unknown', '{"p_reason": "cut off",
                                                            "p_diagnostic": {"request": "r-9"}}')),
    $$ values ('ok'::text, false, true, 'unknown'::text, 3, '{"request": "r-9"}'::jsonb,
               null::jsonb, 'cut off'::text, null::timestamptz) $$,
    'nobody knows, why, and what may help to find out stands beside the result'
);
select testing.duplicate(
    testing.on_operation('mark_operation_unknown', '{"p_reason": "cut off",
                                                     "p_diagnostic": {"request": "r-9"}}'),
    'D11: repeated it is a duplicate'
);
select testing.refused(
    testing.on_operation('mark_operation_unknown', '{"p_reason": "cut off",
        "p_diagnostic": {"request": "r-9"}}'::jsonb || c.change),
    'illegal', 'with another ' || c.what || ' it is not'
)
from (values
    ('{"p_reason": "gone"}'::jsonb, 'reason'), ('{"p_diagnostic": null}', 'diagnostic'),
    ('{"p_diagnostic": "null"}', 'diagnostic, null')
) as c (change, what);
reset session authorization;
select results_eq(
    $$ select event, from_state, to_state, reason, diagnostic
       from ledger.operation_event order by event_no desc limit 1 $$,
    $$ values ('mark_unknown'::text, 'pending'::text, 'unknown'::text, 'cut off'::text,
               '{"request": "r-9"}'::jsonb) $$, 'as the history says'
);

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation(
        'mark_operation_unknown', '{"p_reason": "another"}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('pending', 'ok unknown 2 moved'), ('started', 'ok unknown 3 started moved'),
    ('completed', 'stale'), ('failed', 'stale'), ('released', 'stale'), ('unknown', 'illegal')
) as s (state, told);

-- D17: what is resolved keeps the diagnostic, and the history keeps every reason.
select testing.must('worker_2', testing.resolving('completed', '{"p_reason": "it is there"}'));
select row_eq(
    $$ select o.state, o.principal, o.reason, o.diagnostic, o.result, o.reconciled_by
       from testing.operation() as o $$,
    row('completed'::text, 'worker_1'::name, 'it is there'::text, '{"request": "r-9"}'::jsonb,
        '{"id": 7}'::jsonb, 'worker_2'::name),
    'D17: resolved it keeps its owner and its diagnostic'
);
select results_eq(
    $$ select event, reason, by_principal from ledger.operation_event
       where operation_key = 'pay-1' order by event_no desc limit 2 $$,
    $$ values ('resolve'::text, 'it is there'::text, 'worker_2'::name),
              ('mark_unknown', 'cut off', 'worker_1') $$,
    'D17: and its history every reason'
);

select testing.posted('started', 'late');
select testing.clock_passes('1 year');
select is(
    testing.told('worker_1', testing.on_operation('mark_operation_unknown', '{}', 'late')),
    'ok unknown 3 started moved', 'D04: never refused for the age of a lease'
);
select row_eq(
    $$ select e.is_late from ledger.operation_event as e
       where e.operation_key = 'late' and e.event = 'mark_unknown' $$,
    row(true), 'which its event says'
);

select testing.posted('started', 'mine');
select testing.refused(
    testing.on_operation('mark_operation_unknown', '{}', 'mine'), 'forbidden',
    'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('mark_operation_unknown', '{}', 'mine'), 'forbidden',
    'and to who is of another class'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('mark_operation_unknown', '{}', 'mine'), 'not_holder',
    'nobody else casts doubt on it'
);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('mark_operation_unknown', m.changes, 'mine'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": "nothing"}', 'KN116', null, 'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    ('{"p_reason": null}', 'KN101', 'argument p_reason is null', 'a reason'),
    ('{"p_reason": ""}', 'KN102', 'argument p_reason is empty', 'one that says something'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'in 4096 bytes'),
    (jsonb_build_object('p_diagnostic', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a diagnostic of 65536 bytes')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
