-- kernel.complete_operation records that an effect has happened. The truth is not refused: not for
-- the age of a lease, nor for what has become of the campaign.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(65);

select testing.callable_by('kernel.complete_operation', 'worker', 'verifier');
select testing.allows_operations('fix');

-- == what it writes ===============================================================================

select testing.posted('started', 'pay-1', 'fix', '{"p_expected": {"after": {"paid": true}}}');
select testing.clock_passes('1 minute');
select testing.operation() as before \gset
set local session authorization worker_1;
select results_eq(
    format('select outcome, duplicate, moved, operation_state, revision, result, read_back, '
           'reason, result_text, lease_expires_at, updated_at, reconciled_by from (%s) as c',
           testing.on_operation('complete_operation', '{"p_result": {"id": 7},
               "p_reason": "at last", "p_read_back": {"paid": true, "at": 9}, "p_result_text": "{ \"id\": 7 }\n"}')),
    $$ select 'ok'::text, false, true, 'completed'::text, 3, '{"id": 7}'::jsonb,
              '{"paid": true, "at": 9}'::jsonb, 'at last'::text, E'{ "id": 7 }\n'::text,
              null::timestamptz, testing.clock(), null::name $$,
    'D19: it is completed, with its result, what was read back, and a remark'
);
reset session authorization;
select is(
    to_jsonb(testing.operation()) - array['state', 'revision', 'result', 'read_back', 'reason',
        'result_text', 'lease_expires_at', 'updated_at', 'event_count', 'last_event',
        'last_content_sha256'],
    to_jsonb(:'before'::ledger.operation) - array['state', 'revision', 'result', 'read_back',
        'reason', 'result_text', 'lease_expires_at', 'updated_at', 'event_count', 'last_event',
        'last_content_sha256'],
    'and nothing else of it changes'
);
select row_eq(
    $$ select e.event, e.from_state, e.to_state, e.revision, e.by_principal, e.is_late, e.reason,
              e.at
       from ledger.operation_event as e order by e.event_no desc limit 1 $$,
    row('complete'::text, 'pending'::text, 'completed'::text, 3, 'worker_1'::name, false,
        'at last'::text, testing.clock()),
    'its event says so'
);
set local session authorization worker_1;
select testing.duplicate(
    testing.on_operation('complete_operation', '{"p_result": {"id": 7}, "p_reason": "at last",
        "p_read_back": {"paid": true, "at": 9}, "p_result_text": "{ \"id\": 7 }\n"}'),
    'D11: repeated it is a duplicate'
);
select testing.refused(
    testing.on_operation('complete_operation', '{"p_result": {"id": 7}, "p_reason": "at last",
        "p_read_back": {"paid": true, "at": 9}, "p_result_text": "{ \"id\": 7 }\n"}'::jsonb
        || c.change), 'stale', 'with another ' || c.what || ' it is stale'
)
from (values
    ('{"p_result": {"id": 8}}'::jsonb, 'result'),
    ('{"p_result": "null"}', 'result, null'),
    ('{"p_result": null}', 'result, none'),
    ('{"p_reason": "at first"}', 'remark'),
    ('{"p_read_back": {"paid": true}}', 'read-back'),
    ('{"p_result_text": "{ \"id\": 7 }"}', 'text')
) as c (change, what);
select testing.refused(
    testing.on_operation('complete_operation', '{"p_result": {"id": 7}, "p_reason": "at last",
        "p_read_back": {"paid": true, "at": 9}, "p_result_text": "{ \"id\": 7 }\n"}', 'pay-1', 'fix',
        'of worker_2'), 'not_holder', 'with another token it is nobody''s repeat'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('complete_operation', '{"p_result": {"id": 7}, "p_reason": "at last",
        "p_read_back": {"paid": true, "at": 9}, "p_result_text": "{ \"id\": 7 }\n"}'),
    'not_holder', 'nor is what another principal says with this one'
);
reset session authorization;

-- == absent, null, and to the byte ================================================================

select testing.posted('started', 'absent');
select testing.posted('started', 'null');
select testing.must('worker_1', testing.on_operation('complete_operation', '{}', 'absent'));
select testing.must('worker_1', testing.on_operation(
    'complete_operation', '{"p_result": "null"}', 'null'));
select is(
    testing.act('worker_2', format(
        'select b.status, b.result is null as is_absent, jsonb_typeof(b.result) as type '
        'from (%s) as b, lateral (select ''ok''::text as outcome) as o', testing.posting(
        jsonb_build_object('p_key', k.key, 'p_operation_token', gen_random_uuid())))),
    jsonb_build_object('status', 'replay', 'is_absent', k.key = 'absent',
                       'type', case k.key when 'null' then 'null' end),
    format('D12: the replay of a result that is %s tells so', k.key)
)
from (values ('absent'), ('null')) as k (key);
select testing.posted('started', 'exact');
select E'\t{"b":1, "a" : 1.50, "a":2,\u2028 "ü":"\\u00fc"}\r\n ' as exact \gset
select testing.must('worker_1', testing.on_operation(
    'complete_operation', jsonb_build_object('p_result_text', :'exact'::text), 'exact'));
select is(
    testing.act('worker_2', testing.posting(
        '{"p_key": "exact", "p_operation_token": "00000000-0000-4000-8000-000000000001"}'))
        ->> 'result_text',
    :'exact'::text, 'a result that is text is replayed byte for byte'
);
select testing.posted('started', 'blank');
select is(
    testing.act('worker_1', testing.on_operation(
        'complete_operation', '{"p_result_text": " "}', 'blank')) ->> 'result_text',
    ' ', 'also one that is blank'
);
-- D12: what jsonb does not hold is refused before anything is written; the text may hold it.
select testing.posted('started', 'odd');
set local session authorization worker_1;
select testing.raises(
    format($$ select kernel.complete_operation('fix', 'odd', %L, %L::jsonb) $$,
           testing.token('of worker_1'), j.json),
    j.code, null, 'D12: jsonb takes no ' || j.what
)
from (values ('"\u0000"', '22P05', 'NUL'), ('"\ud800"', '22P02', 'lone surrogate'))
    as j (json, code, what);
reset session authorization;
select is(
    testing.told('worker_1', testing.on_operation(
        'complete_operation', '{"p_result_text": "\"\\u0000\"",
                                "p_reason": "the result is not jsonb"}', 'odd')),
    'ok completed 3 started moved', 'D12: it is completed without, and keeps the text'
);

-- == what was read back ===========================================================================

create function testing.shows(p_after jsonb, p_read_back jsonb)
    returns text
    language plpgsql
as $fn$
declare
    v_key text := gen_random_uuid();
begin
    perform testing.posted('started', v_key, 'fix', jsonb_build_object(
        'p_expected', jsonb_build_object('after', p_after)));
    return testing.act('worker_1', testing.on_operation(
        'complete_operation', jsonb_build_object('p_read_back', p_read_back), v_key)) ->> 'outcome';
end
$fn$;
select is(testing.shows(s.after, s.back), s.outcome, s.what)
from (values
    ('{"commit": "a"}'::jsonb, '{"commit": "a"}'::jsonb, 'ok', 'what was expected is shown'),
    ('{"commit": "a"}', '{"commit": "a", "by": "b"}', 'ok', 'more may be'),
    ('{"commit": "a"}', '{"commit": "b"}', 'no_evidence', 'nothing else will do'),
    ('{"commit": "a"}', '{}', 'no_evidence', 'nor nothing'),
    ('{"commit": "a"}', null, 'no_evidence', 'nor no reading'),
    ('{"commit": "a"}', '"\"a\""', 'no_evidence', 'nor another form'),
    ('{"commit": "a", "x": 1}', '{"commit": "a"}', 'no_evidence', 'nor a part'),
    ('{"x": {"y": [1, 2]}}', '{"x": {"y": [2, 1, 3], "z": 0}}', 'ok', 'to any depth'),
    ('{}', '{}', 'ok', 'where nothing is to be shown, anything shows it'),
    ('{}', null, 'no_evidence', 'but something has to be read')
) as s (after, back, outcome, what);
select testing.posted('started', 'unshown', 'fix', '{"p_expected": {"after": {"commit": "a"}}}');
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('complete_operation', '{"p_read_back": {"commit": "b"}}', 'unshown'),
    'no_evidence', 'which is recorded'
);
reset session authorization;
select is(
    testing.told('worker_1', testing.on_operation(
        'complete_operation', '{"p_read_back": {"commit": "a"}}', 'unshown')),
    'ok completed 3 started moved', 'and keeps nobody from reading again'
);
select testing.posted('started', 'blind', 'fix', '{"p_expected": {"before": 1}}');
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'blind')),
    'ok completed 3 started moved', 'where no "after" is expected, nothing need be read'
);

-- == in every state ===============================================================================

select testing.posted(s.state, 'key ' || s.state)
from unnest(array['pending', 'started', 'completed', 'failed', 'unknown', 'released']) as s (state);
select is(
    testing.told('worker_1', testing.on_operation(
        'complete_operation', '{"p_result": {"other": 1}}', 'key ' || s.state)),
    s.told, 'one that is ' || s.state
)
from (values
    ('pending', 'ok completed 2 moved'), ('started', 'ok completed 3 started moved'),
    ('completed', 'stale'), ('failed', 'stale'), ('released', 'stale'),
    ('unknown', 'ok completed 4 started moved')
) as s (state, told);
select results_eq(
    $$ select e.is_late, o.reason
       from ledger.operation_event as e
       join ledger.operation as o using (class, operation_key)
       where operation_key = 'key unknown' and event_no = 4 $$,
    $$ values (true, null::text) $$, 'one that was unknown is so no more: late, but known'
);

select testing.posted('started', 'diagnosed');
select testing.must('worker_1', testing.on_operation(
    'mark_operation_unknown', '{"p_diagnostic": {"request": "r-9"}}', 'diagnosed'));
select testing.must('worker_1', testing.on_operation('complete_operation', '{}', 'diagnosed'));
select is(
    (testing.operation('diagnosed')).diagnostic, '{"request": "r-9"}',
    'D17: what was written down to find out is kept'
);

-- == late =========================================================================================

select testing.posted('started', 'late');
select testing.posted('pending', 'late, not started');
select testing.clock_passes('1 hour');
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', k.key)), k.told,
    'D02: after its lease ended, while nobody has come: ' || k.key
)
from (values ('late', 'ok completed 3 started moved'),
             ('late, not started', 'ok completed 2 moved')) as k (key, told);
select results_eq(
    $$ select distinct e.is_late from ledger.operation_event as e
       where e.operation_key like 'late%' and e.event = 'complete' $$,
    array[true], 'which its event says'
);
select testing.posted('started', 'at the end');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.expire_operations('fix') $$);
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', 'at the end')),
    'ok completed 4 started moved', 'D02: also after the reaper said that nobody knows'
);
-- Resolved by another: whichever is recorded first stands.
select testing.posted('unknown', 'resolved');
select testing.must('worker_2', testing.resolving('failed', '{}', 'resolved'));
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('complete_operation', '{}', 'resolved'), 'stale',
    'not after another has resolved it'
);
reset session authorization;

-- == of a campaign, whatever became of it =========================================================

create function testing.after_the(p_end text)
    returns text
    language plpgsql
as $fn$
declare
    v_key text;
begin
    perform testing.class(p_end);
    perform testing.allows_operations(p_end);
    perform testing.leased('parser', p_end);
    v_key := testing.pushed('started', 'parser', p_end);
    case p_end
        when 'fail', 'release' then
            perform testing.must('worker_1', testing.holding(
                p_end, '{"p_reason": "no"}', 'parser', p_end));
        when 'lose' then
            perform testing.clock_passes('15 minutes');
            perform testing.must('reaper_1', format('select * from kernel.reap(%L)', p_end));
        when 'cancel', 'park' then
            perform testing.must('admin_1', testing.on_campaign(p_end, '{}', 'parser', p_end));
    end case;
    return testing.told('worker_1', testing.on_operation(
        'complete_operation', '{"p_read_back": {"commit": "tip-1"}}', v_key, p_end, 'of push'));
end
$fn$;
select is(
    testing.after_the(e.end), 'ok completed 4 started moved',
    format('D02: that of a campaign is completed after %s', e.end)
)
from unnest(array['fail', 'release', 'lose', 'cancel', 'park']) as e ("end");

-- == who, and misuse ==============================================================================

select testing.posted('started', 'mine');
select testing.refused(
    testing.on_operation('complete_operation', '{}', 'mine'), 'forbidden',
    'is forbidden to a superuser'
);
set local session authorization worker_elsewhere;
select testing.refused(
    testing.on_operation('complete_operation', '{}', 'mine'), 'forbidden',
    'and to who is of another class'
);
set local session authorization worker_2;
select testing.refused(
    testing.on_operation('complete_operation', '{}', 'mine'), 'not_holder',
    'D10: nobody else completes it, not with its token'
);
set local session authorization worker_1;
select testing.refused(
    testing.on_operation('complete_operation', '{}', 'mine', 'fix', 'of worker_2'), 'not_holder',
    'D10: nor its owner''s principal without'
);
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization worker_1;
select testing.raises(
    testing.on_operation('complete_operation', m.changes, 'mine'), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_operation_key": null}', 'KN101', 'argument p_operation_key is null', 'a key'),
    ('{"p_operation_key": "nothing"}', 'KN116', 'class fix has no such operation',
     'one that there is'),
    ('{"p_operation_token": null}', 'KN101', 'argument p_operation_token is null', 'a token'),
    (jsonb_build_object('p_result', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a result of 65536 bytes'),
    (jsonb_build_object('p_read_back', jsonb_build_object('x', repeat('x', 65536))), 'KN103', null,
     'a read-back of as many'),
    (jsonb_build_object('p_result_text', repeat('x', 65537)), 'KN103', null, 'a text of as many'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'a remark of 4096 bytes'),
    ('{"p_reason": ""}', 'KN102', null, 'or none')
) as m (changes, code, message, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
