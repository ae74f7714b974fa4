-- What kernel.resolve_operation records: completed, failed or still unknown, under the fence that
-- was read.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(58);

select testing.allows_operations('fix');

-- == completed, failed, still unknown =============================================================

select testing.posted('unknown', s.state) from unnest(array['completed', 'failed',
    'still_unknown']) as s (state);
select testing.clock_passes('1 hour');
select to_jsonb(o) as before from testing.operation('completed') as o \gset
set local session authorization worker_2;
select results_eq(
    format('select outcome, duplicate, moved, operation_state, revision, incarnation, reason, '
           'result, result_text, read_back, principal, reconciled_by, reconciled_at, updated_at, '
           'lease_expires_at from (%s) as r',
           testing.resolving('completed', '{"p_reason": "it is there", "p_result": {"id": 7},
               "p_result_text": "seven", "p_read_back": {"seen": 1}}', 'completed')),
    $$ select 'ok'::text, false, true, 'completed'::text, 4,
              (testing.operation('completed')).incarnation, 'it is there'::text,
              '{"id": 7}'::jsonb, 'seven'::text, '{"seen": 1}'::jsonb, 'worker_1'::name,
              'worker_2'::name, testing.clock(), testing.clock(), null::timestamptz $$,
    'completed: with its result, by whom and when; the owner stays'
);
reset session authorization;
select is(
    to_jsonb(testing.operation('completed')) - array['state', 'revision', 'reason', 'result',
        'result_text', 'read_back', 'reconciled_by', 'reconciled_at', 'updated_at', 'event_count',
        'last_event', 'last_content_sha256'],
    :'before'::jsonb - array['state', 'revision', 'reason', 'result', 'result_text', 'read_back',
        'reconciled_by', 'reconciled_at', 'updated_at', 'event_count', 'last_event',
        'last_content_sha256'],
    'and nothing else of it changes'
);
select is(
    testing.told('worker_2', testing.resolving('failed', '{"p_reason": "it is not"}', 'failed')),
    'ok failed 4 started moved', 'failed'
);
select row_eq(
    $$ select o.result, o.reason, o.reconciled_by from testing.operation('failed') as o $$,
    row(null::jsonb, 'it is not'::text, 'worker_2'::name), 'why, and by whom'
);
select is(
    testing.told('worker_2', testing.resolving(
        'still_unknown', '{"p_reason": "no answer either"}', 'still_unknown')),
    'ok unknown 4 started', 'still unknown'
);
select row_eq(
    $$ select o.reason, o.inquiry_count, o.reconciled_by, o.updated_at
       from testing.operation('still_unknown') as o $$,
    row('no answer either'::text, 1, null::name, testing.clock()),
    'which is counted, and not taken for an answer'
);
select results_eq(
    $$ select e.operation_key::text collate "default", e.event, e.from_state, e.to_state,
              e.by_principal, e.owner, e.reason, e.is_late
       from ledger.operation_event as e
       where e.event in ('resolve', 'inquire')
       order by e.operation_key $$,
    $$ values ('completed'::text, 'resolve'::text, 'unknown'::text, 'completed'::text,
               'worker_2'::name, 'worker_1'::name, 'it is there'::text, false),
              ('failed', 'resolve', 'unknown', 'failed', 'worker_2', 'worker_1', 'it is not',
               false),
              ('still_unknown', 'inquire', 'unknown', 'unknown', 'worker_2', 'worker_1',
               'no answer either', false) $$,
    'each with its event'
);
select is(
    testing.act('verifier_1', testing.posting(
        '{"p_key": "completed", "p_operation_token": "00000000-0000-4000-8000-000000000001"}'))
        -> 'result',
    '{"id": 7}', 'from then on it is replayed'
);

-- == exactly three answers ========================================================================

select testing.posted('unknown', 'odd');
select testing.ledger_digest(true) as before \gset
set local session authorization worker_2;
select testing.raises(
    testing.resolving(s.state, '{}', 'odd'), 'KN102', 'an operation is not resolved as ' || s.state,
    format('D21: "%s" is no resolution', s.state)
)
from unnest(array['unknown', 'pending', 'released', 'Completed', 'ok', '']) as s (state);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'D21: and the record is unchanged');
set local session authorization worker_2;
select testing.refused(
    testing.resolving('completed', '{"p_result": null}', 'odd'), 'no_evidence',
    'D21: completed without a campaign needs a result'
);
select is(
    testing.told('worker_2', testing.resolving(
        'completed', '{"p_result": "null"}', 'odd')),
    'ok completed 4 started moved', 'which may be null'
);
reset session authorization;
select testing.posted('unknown', 'as text');
select is(
    testing.told('worker_2', testing.resolving(
        'completed', '{"p_result": null, "p_result_text": ""}', 'as text')),
    'ok completed 4 started moved', 'or text'
);

-- == what was read back ===========================================================================

select testing.posted(
    'unknown', 'expects', 'fix', '{"p_expected": {"after": {"commit": "tip-1"}}}'
);
set local session authorization worker_2;
select testing.refused(
    testing.resolving('completed', c.change, 'expects'), 'no_evidence', c.what
)
from (values
    ('{"p_read_back": {"commit": "tip-0"}}'::jsonb, 'completed is what the target shows'),
    ('{"p_read_back": null}', 'not what nobody has read')
) as c (change, what);
reset session authorization;
select is(
    testing.told('worker_2', testing.resolving('completed', '{}', 'expects')),
    'ok completed 4 started moved', 'and is recorded when it does'
);
select testing.leased();
select testing.pushed('unknown') as key \gset
select is(
    testing.told('worker_1', testing.resolving(
        'completed', jsonb_build_object('p_token', testing.token('worker_1'), 'p_result', null),
        :'key')),
    'ok completed 4 started moved', 'of a campaign the read-back is enough'
);

-- == in every state, and the fence ================================================================

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'released']) as s (state);
set local session authorization worker_2;
select testing.refused(
    testing.resolving('failed', '{}', 'key ' || s.state), 'illegal', 'one that is ' || s.state
)
from unnest(array['pending', 'started', 'completed', 'failed', 'released']) as s (state);
reset session authorization;
select testing.posted('unknown', 'fenced');
set local session authorization worker_2;
select testing.refused(
    testing.resolving('failed', c.change, 'fenced'), 'stale', 'refuses ' || c.what
)
from (values
    ('{"p_revision": 2}'::jsonb, 'an earlier revision'), ('{"p_revision": 4}', 'a later one'),
    ('{"p_revision": 0}', 'none'),
    ('{"p_incarnation": "00000000-0000-4000-8000-000000000001"}', 'another incarnation')
) as c (change, what);
-- The order of checks: there is one, it is unknown, the fence.
select testing.refused(
    testing.resolving('failed', '{"p_revision": 9}', 'key pending'), 'illegal',
    'that it is not unknown is said before the fence'
);
select testing.raises(
    testing.resolving('failed', '{"p_incarnation": "00000000-0000-4000-8000-000000000001",
                                   "p_revision": 1}', 'nothing'),
    'KN116', null, 'and that there is none before all'
);
reset session authorization;
-- Two reconcilers with one fence: whichever is recorded first stands.
select testing.resolving('completed', '{}', 'fenced') as one,
       testing.resolving('failed', '{}', 'fenced') as two \gset
select is(testing.told('worker_1', :'one'), 'ok completed 4 started moved', 'the first stands');
select is(testing.told('worker_2', :'two'), 'illegal', 'the second is told that it is known');
select testing.posted('unknown', 'twice');
select testing.resolving('still_unknown', '{}', 'twice') as one,
       testing.resolving('failed', '{}', 'twice') as two \gset
select is(testing.told('worker_1', :'one'), 'ok unknown 4 started', 'somebody looks in vain');
select is(testing.told('worker_2', :'two'), 'stale',
          'and whoever read it before has to read again');

-- ABA: the same key, revision 3 and unknown, but another incarnation.
select testing.posted('unknown', 'aba');
select testing.resolving('failed', '{}', 'aba') as old \gset
select testing.must('worker_1', :'old');
select testing.clock_passes('31 days');
select testing.must('reaper_1', $$ select * from kernel.prune_operations('fix') $$);
select testing.must('worker_1', testing.posting('{"p_key": "aba",
    "p_operation_token": "00000000-0000-4000-8000-000000000001"}'));
select testing.as_if_committed();
select testing.must('worker_1', testing.call(f.name, jsonb_build_object(
    'p_class', 'fix', 'p_operation_key', 'aba',
    'p_operation_token', '00000000-0000-4000-8000-000000000001') || f.changes))
from (values (1, 'start_operation', '{}'::jsonb),
             (2, 'mark_operation_unknown', '{"p_reason": "again"}')) as f (place, name, changes)
order by f.place;
select is((testing.operation('aba')).revision, 3, 'pruned and begun anew it has the same revision');
select is(testing.told('worker_2', :'old'), 'stale', 'but not the fence of the one before');
select is(testing.told('worker_1', :'old'), 'stale', 'nor is that a repeat');

-- == repeats ======================================================================================

select testing.posted('unknown', 'again');
select testing.resolving('completed', '{}', 'again') as done \gset
select testing.must('worker_2', :'done');
set local session authorization worker_2;
select testing.duplicate(:'done', 'D11: repeated it is a duplicate');
select testing.refused(
    replace(:'done', 'looked', 'looked twice'), 'illegal', 'for another reason it is not'
);
reset session authorization;
select testing.posted('unknown', 'asked again');
select testing.resolving('still_unknown', '{}', 'asked again') as asked \gset
select testing.must('worker_2', :'asked');
set local session authorization worker_2;
select testing.duplicate(:'asked', 'D11: so it is with one that is still unknown');
reset session authorization;
select is((testing.operation('asked again')).inquiry_count, 1, 'which is counted once');
select testing.must('worker_2', testing.resolving('failed', '{}', 'asked again'));
set local session authorization worker_2;
select testing.duplicate(:'asked', 'also after it was resolved');
reset session authorization;

-- == misuse =======================================================================================

select testing.posted('unknown', 'mine');
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.resolving('failed', m.changes, 'mine'), m.code, m.message, 'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_incarnation": null}', 'KN101', 'argument p_incarnation is null', 'an incarnation'),
    ('{"p_revision": null}', 'KN101', 'argument p_revision is null', 'a revision'),
    ('{"p_state": null}', 'KN101', 'argument p_state is null', 'a state'),
    ('{"p_reason": null}', 'KN101', 'argument p_reason is null', 'a reason for a failure'),
    ('{"p_state": "still_unknown", "p_reason": null}', 'KN101', null, 'and for no answer'),
    ('{"p_reason": ""}', 'KN102', null, 'one that says something'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'in 4096 bytes'),
    (jsonb_build_object('p_result', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a result of 65536 bytes'),
    (jsonb_build_object('p_read_back', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a read-back of as many'),
    (jsonb_build_object('p_result_text', repeat('x', 65537)), 'KN103', null, 'a text of as many')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
