-- What kernel.begin_operation finds under a key, in every state of the operation, and tells: owner,
-- pending, replay, unknown or conflict. Conflict comes first, and reveals nothing.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(65);

select testing.callable_by('kernel.begin_operation', 'worker', 'verifier');
select testing.allows_operations('fix');
select testing.authorised('http.put', 'https://*', 'fix', 'worker', true);

-- == owner ========================================================================================

select testing.clock() as now \gset
set local session authorization worker_1;
select results_eq(
    testing.posting('{"p_label": "desk 4", "p_lease_for": "1 minute"}'),
    format($$ select 'ok'::text, false, true, null::text, 'fix'::text, null::bigint, null::bigint,
              null::text, %L::timestamptz + interval '1 minute', null::text, 'owner'::text,
              'pay-1'::text, 'http.post'::text, 'https://pay.example/charges'::text, 1,
              null::integer, 'worker'::text, 'request-1'::text,
              (testing.operation()).incarnation, 1, 'pending'::text, false, null::jsonb,
              null::jsonb, null::jsonb, null::text, null::jsonb, null::text, 'worker_1'::name,
              'desk 4'::text, %L::timestamptz, %L::timestamptz, null::name, null::timestamptz,
              null::interval $$, :'now', :'now', :'now'),
    'who comes first is told: owner'
);
reset session authorization;
select results_eq(
    'select * from testing.steps()', array['1 begin: none to pending'], 'which is in the history'
);
select row_eq(
    $$ select e.incarnation, e.revision, e.by_principal, e.owner, e.campaign_id, e.is_late,
              e.reason, e.at, e.epoch, e.xid
       from ledger.operation_event as e $$,
    row((testing.operation()).incarnation, 1, 'worker_1'::name, 'worker_1'::name, null::bigint,
        false, null::text, :'now'::timestamptz, 0, pg_current_xact_id()),
    'with its fence, by whom, when and in which transaction'
);
-- D26: who it was is what the server says; there is no parameter for it.
select row_eq(
    $$ select o.principal, o.principal_oid from ledger.operation as o $$,
    row('worker_1'::name, 'worker_1'::regrole::oid), 'D26: its owner is the session''s principal'
);
select is_empty(
    format($$ select from ledger.operation as o, ledger.operation_event as e
              where strpos(o::text || e::text, %L) > 0
                 or strpos(o::text || e::text, replace(%L, '-', '')) > 0 $$,
           testing.token('of worker_1'), testing.token('of worker_1')),
    'D10: its token stands nowhere'
);
select is(
    (testing.operation()).token_sha256, ledger.token_digest(testing.token('of worker_1')),
    'but its digest, with the owner'
);

-- == every other state ============================================================================

-- Who is told what: another principal, and the owner with another token.
select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released'])
    as s (state);
select testing.ledger_digest(true) as before \gset
select is(
    testing.told(w.principal, testing.posting(jsonb_build_object(
        'p_key', 'key ' || t.state, 'p_operation_token', testing.token('another')))),
    t.told, format('%s is told of one that is %s', w.principal, t.state)
)
from unnest(array['worker_2', 'verifier_1', 'worker_1']) as w (principal)
cross join (values
    ('pending', 'ok pending pending 1'),
    ('started', 'ok pending pending 2 started'),
    ('completed', 'ok replay completed 3 started'),
    ('failed', 'ok replay failed 3 started'),
    ('unknown', 'ok unknown unknown 3 started')
) as t (state, told);
select is(testing.ledger_digest(true), :'before', 'and nothing was written');

set local session authorization worker_2;
select results_eq(
    format('select status, retry_after, lease_expires_at, incarnation is not null from (%s) as b',
           testing.posting('{"p_key": "key pending"}')),
    format($$ values ('pending'::text, '15 minutes'::interval,
                      %L::timestamptz + interval '15 minutes', true) $$, :'now'),
    'D29: who finds it pending is told when to look again'
);
select results_eq(
    format('select status, result, reason, principal, revision, retry_after from (%s) as b',
           testing.posting('{"p_key": "key completed"}')),
    $$ values ('replay'::text, '{"id": 7}'::jsonb, null::text, 'worker_1'::name, 3,
               null::interval) $$,
    'a replay has the result'
);
select results_eq(
    format('select status, result, reason from (%s) as b',
           testing.posting('{"p_key": "key failed"}')),
    $$ values ('replay'::text, null::jsonb, 'refused'::text) $$, 'also of a failure, why'
);
select results_eq(
    format('select status, reason, retry_after from (%s) as b',
           testing.posting('{"p_key": "key unknown"}')),
    $$ values ('unknown'::text, 'no answer'::text, null::interval) $$, 'of an unknown one, why'
);

-- == conflict =====================================================================================

select is(
    testing.act('worker_2', testing.posting(jsonb_build_object(
        'p_key', 'key ' || s.state, 'p_fingerprint', 'request-2')))
        - array['class', 'outcome', 'duplicate', 'moved', 'status', 'operation_key'],
    (select jsonb_object_agg(a.attname, null)
     from pg_attribute as a
     where a.attrelid = 'kernel.operation'::regclass
       and a.attname <> all (array['class', 'outcome', 'duplicate', 'moved', 'status',
                                   'operation_key'])),
    format('D10: a conflict with one that is %s reveals no result, owner or fence', s.state)
)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown']) as s (state);
select is(
    testing.told('worker_2', testing.posting(jsonb_build_object(
        'p_key', 'key ' || s.state, 'p_fingerprint', 'request-2'))),
    'ok conflict', format('it is a conflict with one that is %s', s.state)
)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown']) as s (state);
-- One fingerprint stands for one request to one target.
select is(
    testing.told('worker_2', testing.posting(jsonb_build_object('p_key', 'key ' || s.state)
                                             || c.change)),
    'ok conflict', format('so is another %s, with one that is %s', c.what, s.state)
)
from unnest(array['pending', 'completed', 'unknown']) as s (state)
cross join (values ('{"p_kind": "http.put"}'::jsonb, 'kind'),
                   ('{"p_target": "https://pay.example/refunds"}', 'target')) as c (change, what);
reset session authorization;
select testing.clock_passes('1 hour');
select is(
    testing.told('worker_2', testing.posting(jsonb_build_object(
        'p_key', 'key ' || s.state, 'p_fingerprint', 'request-2'))),
    'ok conflict', format('also with one that is %s and whose lease has run out', s.state)
)
from unnest(array['pending', 'started']) as s (state);
select is(testing.ledger_digest(true), :'before', 'and nothing was written');
select testing.clock_is(:'now');

-- == released: nothing was done ===================================================================

select (testing.operation('key released')).incarnation as released \gset
select is(
    testing.told('worker_2', testing.posting('{"p_key": "key released",
        "p_fingerprint": "request-2", "p_kind": "http.post", "p_target": "https://other.example",
        "p_operation_token": "00000000-0000-4000-8000-000000000002"}')),
    'ok owner pending 1 moved',
    'a released key is free, also for another request: revision 1'
);
select isnt(
    (testing.operation('key released')).incarnation, :'released', 'of a new incarnation'
);
select row_eq(
    $$ select o.principal, o.target, o.fingerprint, o.reason, o.created_at, o.started_at is null,
              o.event_count
       from testing.operation('key released') as o $$,
    row('worker_2'::name, 'https://other.example'::text, 'request-2'::text, null::text,
        :'now'::timestamptz, true, 3::bigint),
    'with nothing of the one before but its history'
);
select results_eq(
    $$ select * from testing.steps('key released') $$,
    array['1 begin: none to pending', '2 release: pending to released',
          '3 begin: released to pending'],
    'which goes on'
);
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'key released')),
    'stale', 'its former owner is fenced off'
);

-- == repeats ======================================================================================

set local session authorization worker_1;
select testing.duplicate(
    testing.posting(jsonb_build_object('p_key', 'key ' || s.state)),
    format('D11: repeated by its owner it is a duplicate, where it is %s', s.state)
)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown']) as s (state);
select results_eq(
    format('select status from (%s) as b',
           testing.posting(jsonb_build_object('p_key', 'key ' || s.state))),
    array[s.status], format('D11: and its owner is told %s, where it is %s', s.status, s.state)
)
from (values ('pending', 'owner'), ('started', 'owner'), ('completed', 'replay'),
             ('failed', 'replay'), ('unknown', 'unknown')) as s (state, status);
select testing.refused(
    testing.posting(jsonb_build_object('p_key', 'key pending') || c.change), 'stale',
    'refuses the same token with another ' || c.what
)
from (values
    ('{"p_fingerprint": "request-2"}'::jsonb, 'fingerprint'),
    ('{"p_target": "https://pay.example/refunds"}', 'target'),
    ('{"p_expected": {"after": {}}}', 'expectation')
) as c (change, what);
reset session authorization;
select testing.posted('released', 'key 7');
set local session authorization worker_1;
select testing.refused(
    testing.posting('{"p_key": "key 7"}'), 'stale', 'and the token of one that was released'
);
reset session authorization;

select finish();
rollback;
