-- kernel.release_operation gives an operation back that was not started: its key is free again.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(29);

select testing.callable_by('kernel.release_operation', 'worker', 'verifier');
select testing.allows_operations('fix');

select testing.posted('pending');
select testing.clock_passes('1 minute');
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, moved, operation_state, revision, reason, lease_expires_at '
           'from (%s) as f',
           testing.on_operation('release_operation', '{"p_reason": "cancelled"}')),
    $$ values ('ok'::text, false, true, 'released'::text, 2, 'cancelled'::text,
               null::timestamptz) $$,
    'D05: its owner gives it back before anything was done'
);
select testing.duplicate(
    testing.on_operation('release_operation', '{"p_reason": "cancelled"}'),
    'D11: repeated it is a duplicate'
);
select testing.refused(
    testing.on_operation('release_operation', '{"p_reason": "no"}'), 'stale',
    'for another reason it is stale'
);
select testing.refused(testing.on_operation('release_operation'), 'stale', 'or for none');
reset session authorization;
select results_eq(
    'select * from testing.steps()',
    array['1 begin: none to pending', '2 release: pending to released'], 'as the history says'
);
select is(
    testing.told('worker_2', testing.posting(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000001"}')),
    'ok owner pending 1 moved', 'D05: the next one need not wait'
);
set local session authorization worker_1;
select testing.duplicate(
    testing.on_operation('release_operation', '{"p_reason": "cancelled"}'),
    'that it was released stays true: still a duplicate'
);
reset session authorization;

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation(
        'release_operation', '{"p_reason": "another"}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('pending', 'ok released 2 moved'), ('started', 'illegal'), ('completed', 'stale'),
    ('failed', 'stale'), ('released', 'stale'), ('unknown', 'illegal')
) as s (state, told);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('release_operation', '{}', 'key started'), 'illegal',
    'which is recorded'
);
reset session authorization;
select testing.posted('pending', 'late');
select testing.clock_passes('1 hour');
select is(
    testing.told('worker_1', testing.on_operation('release_operation', '{}', 'late')),
    'ok released 2 moved', 'it may be late'
);
select testing.leased();
select testing.pushed('pending') as key \gset
select is(
    testing.told('worker_1', testing.on_operation('release_operation', '{}', :'key', 'fix',
                                                  'of push')),
    'ok released 2 moved', 'one of a campaign is given back, too'
);
select is(
    testing.told('worker_1', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000001"}')),
    'ok owner pending 1 moved', 'and begun anew under its key'
);
select is(testing.newest(), :'key'::text, 'the same');

select testing.posted('pending', 'mine');
select testing.refused(
    testing.on_operation('release_operation', '{}', 'mine'), 'forbidden',
    'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('release_operation', '{}', 'mine'), 'forbidden',
    'and to who is of another class'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('release_operation', '{}', 'mine'), 'not_holder', 'nobody else releases it'
);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('release_operation', m.changes, 'mine'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": "nothing"}', 'KN116', null, 'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    ('{"p_reason": " "}', 'KN102', null, 'a reason that says something'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'in 4096 bytes')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
