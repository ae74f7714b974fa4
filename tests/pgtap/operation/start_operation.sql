-- kernel.start_operation records that an effect is about to be attempted: in a transaction after
-- the one that began it, under a live lease.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(38);

select testing.callable_by('kernel.start_operation', 'worker', 'verifier');
select testing.allows_operations('fix');
select testing.allows_operations('ship');

-- == not in the transaction that began it =========================================================

select testing.posted('pending');
select testing.raises(
    format('select testing.must(%L, %L)', 'worker_1', testing.on_operation('start_operation')),
    'KN113', null, 'D16: refuses in the transaction that began it: it may be rolled back'
);
select testing.leased();
select testing.pushed('pending') as push \gset
select testing.raises(
    format('select testing.must(%L, %L)', 'worker_1',
           testing.on_operation('start_operation', '{}', :'push', 'fix', 'of push')),
    'KN113', null, 'also that of a campaign'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('start_operation', '{}', 'pay-1', 'fix', 'of worker_2'), 'not_holder',
    'whoever does not own it is told nothing of that'
);
reset session authorization;
select testing.as_if_committed();

-- == what it writes ===============================================================================

select testing.clock_passes('1 minute');
select testing.operation() as before \gset
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, moved, operation_key, operation_state, is_started, '
           'revision, incarnation, updated_at, lease_expires_at from (%s) as s',
           testing.on_operation('start_operation')),
    $$ select 'ok'::text, false, false, 'pay-1'::text, 'pending'::text, true, 2,
              (testing.operation()).incarnation, testing.clock(),
              testing.clock() + interval '14 minutes' $$,
    'its owner starts it: revision 2'
);
reset session authorization;
select is(
    to_jsonb(testing.operation()) - array['started_at', 'revision', 'updated_at', 'event_count',
                                          'last_event', 'last_content_sha256'],
    to_jsonb(:'before'::ledger.operation) - array['started_at', 'revision', 'updated_at',
        'event_count', 'last_event', 'last_content_sha256'],
    'and nothing else of it changes'
);
select is((testing.operation()).started_at, testing.clock(), 'but when it was started');
select results_eq(
    'select * from testing.steps()',
    array['1 begin: none to pending', '2 start: pending to pending'], 'with an event'
);
set local session authorization worker_1;
select testing.duplicate(testing.on_operation('start_operation'), 'repeated it is a duplicate');
reset session authorization;
select testing.must('worker_1', testing.on_operation('complete_operation'));
set local session authorization worker_1;
select testing.duplicate(
    testing.on_operation('start_operation'), 'also after it was completed'
);
reset session authorization;

-- == in every state ===============================================================================

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation('start_operation', '{}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('completed', 'ok completed 3 started duplicate'), ('failed', 'ok failed 3 started duplicate'),
    ('unknown', 'ok unknown 3 started duplicate'), ('released', 'stale')
) as s (state, told);
-- Those that were never started.
select testing.posted('pending', 'never ' || s.state)
from unnest(array['completed', 'failed', 'unknown']) as s (state);
select testing.must('worker_1', testing.on_operation(s.function, '{}', 'never ' || s.state))
from (values ('complete_operation', 'completed'), ('fail_operation', 'failed'),
             ('mark_operation_unknown', 'unknown')) as s (function, state);
select is(
    testing.told('worker_1', testing.on_operation('start_operation', '{}', 'never ' || s.state)),
    s.told, format('one that is %s and was not started', s.state)
)
from (values ('completed', 'stale'), ('failed', 'stale'), ('unknown', 'illegal'))
    as s (state, told);

-- == the lease ====================================================================================

select testing.posted('pending', 'old');
select testing.clock_passes('15 minutes' - interval '1 microsecond');
select is(
    testing.told('worker_1', testing.on_operation('start_operation', '{}', 'old')),
    'ok pending 2 started', 'is started until its lease ends'
);
select testing.posted('pending', 'older');
select testing.clock_passes('15 minutes');
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('start_operation', '{}', 'older'), 'expired', 'not from exactly then on'
);
reset session authorization;
select testing.must('worker_1', testing.on_operation('renew_operation', '{}', 'older'));
select is(
    testing.told('worker_1', testing.on_operation('start_operation', '{}', 'older')),
    'ok pending 2 started', 'but once it is renewed'
);

-- That of a campaign: while the lease that began it lives.
select testing.clear();
select testing.leased('leaser');
select testing.pushed('pending', 'leaser') as key \gset
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('start_operation', '{}', :'key', 'fix', 'of push'), 'not_holder',
    'another principal does not start it with its token'
);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('start_operation', '{}', :'key'), 'not_holder',
    'nor its owner with another token'
);
reset session authorization;
select testing.clock_passes('15 minutes');
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('start_operation', '{}', :'key', 'fix', 'of push'), 'expired',
    'nor when the campaign''s lease has run out'
);
reset session authorization;
select testing.must('worker_1', testing.holding('renew', '{}', 'leaser'));
select is(
    testing.told('worker_1', testing.on_operation('start_operation', '{}', :'key', 'fix',
                                                  'of push')),
    'ok pending 2 started', 'but once that is renewed'
);
select testing.clear();
select testing.leased('loser');
select testing.pushed('pending', 'loser') as key \gset
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('fix') $$);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('start_operation', '{}', :'key', 'fix', 'of push'), 'stale',
    'one that was released with its lease is not started'
);
reset session authorization;

-- == paused =======================================================================================

select testing.class('calm');
select testing.allows_operations('calm');
select testing.posted('pending', 'pay-1', 'calm');
select testing.posted('started', 'pay-2', 'calm');
select testing.must('admin_1', $$ select * from kernel.pause('calm', 'wait') $$);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('start_operation', '{}', 'pay-1', 'calm'), 'paused',
    'nothing is started while the class is paused'
);
select testing.duplicate(
    testing.on_operation('start_operation', '{}', 'pay-2', 'calm'), 'what was is'
);
reset session authorization;
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'pay-2', 'calm')),
    'ok completed 3 started moved', 'and how it ended is recorded'
);

-- == who, and misuse ==============================================================================

select testing.posted('pending', 'mine');
select testing.refused(
    testing.on_operation('start_operation', '{}', 'mine'), 'forbidden',
    'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('start_operation', '{}', k.key), 'forbidden',
    'and to who is of another class, be there one or not'
)
from (values ('mine'), ('nothing')) as k (key);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('start_operation', m.changes, 'mine'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": ""}', 'KN102', null, 'one that is not empty'),
    (jsonb_build_object('p_operation_key', repeat('x', 513)), 'KN103', null, 'one of 512 bytes'),
    ('{"p_operation_key": "nothing"}', 'KN116', 'class fix has no such operation',
     'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
