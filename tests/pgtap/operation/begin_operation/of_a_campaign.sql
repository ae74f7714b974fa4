-- kernel.begin_operation for an attempt: under the lease of the campaign, whose life it shares, and
-- under a key that the kernel derives.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
\ir ../../_support/operation.psql
select plan(37);

select testing.allows_operations('fix');
select testing.allows_operations('ship');
select testing.leased();

-- == its key and its life =========================================================================

set local session authorization worker_1;
select results_eq(
    format('select outcome, status, moved, campaign_id, generation, state, lease_expires_at, kind, '
           'target, ordinal, attempt_no, duty, expected, retry_after from (%s) as b',
           testing.pushing()),
    $$ values ('ok'::text, 'owner'::text, true, testing.id(), 1::bigint, null::text,
               null::timestamptz, 'git.push'::text,
               format('/srv/parser.git#refs/fencepost/%s/1', testing.id()), 1, 1, 'worker'::text,
               '{"before": null, "after": {"commit": "tip-1"}, "fence": "fence-1"}'::jsonb,
               null::interval) $$,
    'the holder begins one for its attempt; it has no lease of its own'
);
reset session authorization;
select testing.newest() as key \gset
select matches(:'key'::text, '^fencepost:[0-9a-f]{64}$', 'under a key that the kernel makes');
select is(
    :'key'::text, ledger.operation_key('fix', 0, testing.id(), 1, 'git.push',
                                 format('/srv/parser.git#refs/fencepost/%s/1', testing.id()), 1),
    'of class, epoch, campaign, attempt, kind, target and ordinal'
);
select row_eq(
    $$ select e.campaign_id, e.by_principal from ledger.operation_event as e $$,
    row(testing.id(), 'worker_1'::name), 'its history names the campaign'
);
set local session authorization worker_1;
select testing.duplicate(testing.pushing(), 'repeated with its token it is a duplicate');
select results_eq(
    format('select status, duplicate from (%s) as b', testing.pushing()),
    $$ values ('owner'::text, true) $$, 'owner still'
);
select testing.refused(
    testing.pushing('{"p_fingerprint": "push-2"}'), 'stale',
    'another request with that token is not'
);
select results_eq(
    format('select status, retry_after, operation_key from (%s) as b', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000002"}')),
    format($$ values ('pending'::text, '15 minutes'::interval, %L) $$, :'key'),
    'with another token it is pending, until the lease ends'
);
select results_eq(
    format('select status, fingerprint, principal from (%s) as b', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000002",
          "p_fingerprint": "push-2"}')),
    $$ values ('conflict'::text, null::text, null::name) $$, 'and for another request a conflict'
);
select testing.refused(
    testing.pushing(
        '{"p_ordinal": 2, "p_operation_token": "00000000-0000-4000-8000-000000000002"}'),
    'operation_open', 'a second ordinal waits for the first'
);
reset session authorization;
select is(
    testing.told('worker_1', testing.on_operation('complete_operation', '{}', :'key', 'fix',
                                                  'of push')),
    'illegal', 'what was not started cannot be completed'
);

-- == ordinals =====================================================================================

select testing.class(s.state) from unnest(array['failed', 'released', 'completed', 'unknown',
                                                'started', 'pending']) as s (state);
select testing.allows_operations(s.state) from unnest(array['failed', 'released', 'completed',
                                                            'unknown', 'started', 'pending'])
    as s (state);
select testing.leased('parser', s.state) from unnest(array['failed', 'released', 'completed',
                                                           'unknown', 'started', 'pending'])
    as s (state);
select testing.pushed(s.state, 'parser', s.state) from unnest(array['failed', 'released',
    'completed', 'unknown', 'started', 'pending']) as s (state);
select is(
    testing.told('worker_1', testing.pushing(
        '{"p_ordinal": 2, "p_operation_token": "00000000-0000-4000-8000-000000000002"}',
        'parser', o.state)),
    o.told, format('the next ordinal after one that is %s', o.state)
)
from (values
    ('failed', 'ok owner pending 1 moved'),
    ('released', 'ok owner pending 1 moved'),
    ('completed', 'illegal'),
    ('unknown', 'operation_open'),
    ('started', 'operation_open'),
    ('pending', 'operation_open')
) as o (state, told);
select is(
    testing.told('worker_1', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000003"}', 'parser', o.state)),
    o.told, format('the first ordinal again, where it is %s', o.state)
)
from (values
    ('completed', 'ok replay completed 3 started'),
    ('unknown', 'ok unknown unknown 3 started'),
    ('started', 'ok pending pending 2 started'),
    ('pending', 'ok pending pending 1')
) as o (state, told);
select isnt(testing.newest('parser', 'failed'),
            (select min(o.operation_key) from ledger.operation as o
             where o.class = 'failed' and o.ordinal = 1), 'each ordinal has a key of its own');

-- == the lease ====================================================================================

select testing.clear();
select testing.leased('leaser');
set local session authorization worker_1;
select testing.refused(
    testing.pushing(c.change, 'leaser'), c.outcome, 'needs ' || c.what
)
from (values
    ('{"p_token": "00000000-0000-4000-8000-000000000001"}'::jsonb, 'not_holder',
     'the lease''s token'),
    ('{"p_generation": 0}', 'stale', 'the present generation'),
    ('{"p_generation": 2}', 'stale', 'no later one')
) as c (change, outcome, what);
reset session authorization;
select is(
    testing.told('worker_2', testing.pushing(jsonb_build_object(
        'p_token', testing.token('worker_1')), 'leaser')),
    'not_holder', 'needs to be its holder'
);
select testing.clock_passes('15 minutes' - interval '1 microsecond');
select is(
    testing.told('worker_1', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000009"}', 'leaser')),
    'ok owner pending 1 moved', 'may be begun until the lease ends'
);
select testing.clock_passes('1 microsecond');
set local session authorization worker_1;
select testing.refused(
    testing.pushing('{"p_operation_token": "00000000-0000-4000-8000-000000000008"}', 'leaser'),
    'expired', 'not from then on'
);
select testing.duplicate(
    testing.pushing('{"p_operation_token": "00000000-0000-4000-8000-000000000009"}', 'leaser'),
    'but its repeat is one'
);
reset session authorization;
select testing.must('reaper_1', $$ select * from kernel.reap('fix') $$);
set local session authorization worker_1;
select testing.refused(
    testing.pushing('{"p_operation_token": "00000000-0000-4000-8000-000000000008",
                      "p_generation": 1}', 'leaser'),
    'stale', 'nor under a lease that was lost'
);
select testing.refused(
    testing.pushing('{"p_operation_token": "00000000-0000-4000-8000-000000000009",
        "p_generation": 1, "p_target": "x"}', 'leaser'),
    'stale', 'nor with a token that began another'
);
reset session authorization;

-- In a later attempt it is another operation.
select testing.clear();
select testing.leased('twice');
select testing.pushed('failed', 'twice') as first \gset
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "no"}', 'twice'));
select testing.clock_passes('1 hour');
select testing.claim('twice');
select testing.pushed('pending', 'twice') as second \gset
select isnt(:'second'::text, :'first'::text, 'the next attempt has another key for the same');
select is((testing.operation(:'second')).attempt_no, 2, 'that of its own number');

-- == who =========================================================================================

-- A verifier, while it verifies and while it promotes.
select testing.clear('ship');
select testing.verifying('parser', 'ship');
set local session authorization verifier_1;
select results_eq(
    format('select outcome, status, duty, attempt_no from (%s) as b',
           testing.pushing('{}', 'parser', 'ship')),
    $$ values ('ok'::text, 'owner'::text, 'verifier'::text, 1) $$,
    'a verifier begins one while it verifies'
);
reset session authorization;
select testing.must('verifier_1', testing.on_operation(
    'release_operation', '{}', testing.newest('parser', 'ship'), 'ship', 'of push'));
select testing.judge('accepted', 'parser', 'ship');
select is(
    testing.told('verifier_1', testing.pushing(
        '{"p_operation_token": "00000000-0000-4000-8000-000000000008"}', 'parser', 'ship')),
    'ok owner pending 1 moved', 'and while it promotes'
);

-- Not enrolled in mid-lease: a dismissal would have ended the lease.
select testing.clear();
select testing.leased('gone');
alter table ledger.enrolment disable trigger enrolment_10_not_by_hand;
delete from ledger.enrolment where class = 'fix' and principal = 'worker_1';
alter table ledger.enrolment enable always trigger enrolment_10_not_by_hand;
select is(
    testing.told('worker_1', testing.pushing('{}', 'gone')), 'forbidden',
    'who is not enrolled begins nothing'
);

-- == paused =======================================================================================

select testing.class('calm');
select testing.allows_operations('calm');
select testing.leased('parser', 'calm');
select testing.must('admin_1', $$ select * from kernel.pause('calm', 'wait') $$);
set local session authorization worker_1;
select testing.refused(
    testing.pushing('{}', 'parser', 'calm'), 'paused', 'nothing begins while the class is paused'
);
reset session authorization;

select finish();
rollback;
