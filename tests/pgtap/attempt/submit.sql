-- kernel.submit hands a result over for verification, once, under the lease it was made with.
\ir ../_support/fixture.psql
select plan(60);

select testing.callable_by('kernel.submit', 'worker');

-- == what it does =================================================================================

set local session authorization worker_1;
select testing.leased();
select testing.clock_passes('5 minutes');
prepare submission as
select * from kernel.submit(
    p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
    p_token => testing.token(), p_fingerprint => 'patch-1', p_approach => 'a new lexer',
    p_result => '{"commit": "c1", "base": "b1"}', p_evidence_uri => 'file:///log',
    p_evidence_sha256 => sha256('log')
);
select results_eq(
    'submission',
    $$ values ('ok', false, true, null::text, 'fix', testing.id(), 1::bigint, 'attempted',
               null::timestamptz, null::text) $$,
    'kernel.submit answers that the campaign is attempted and held by nobody'
);
select row_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.lease_expires_at,
              c.attempt_count, c.failure_count, c.phase_since, c.next_attempt_at, c.evidence_uri,
              c.evidence_sha256
       from testing.campaign() as c $$,
    row('attempted'::text, 1::bigint, null::name, null::bytea, null::timestamptz, 1, 0,
        timestamptz '2026-09-01 03:05+00', timestamptz '2026-09-01 03:05+00',
        'file:///log'::text, sha256('log')),
    'kernel.submit gives the lease back and writes the evidence into the campaign'
);
select row_eq(
    $$ select a.attempt_no, a.submitted_at, a.fingerprint, a.approach, a.result, a.evidence_uri,
              a.evidence_sha256, a.ended_at, a.ending
       from testing.attempt() as a $$,
    row(1, timestamptz '2026-09-01 03:05+00', 'patch-1'::text, 'a new lexer'::text,
        '{"base": "b1", "commit": "c1"}'::jsonb, 'file:///log'::text, sha256('log'),
        null::timestamptz, null::text),
    'kernel.submit writes the result into the attempt, which does not end by it'
);
select row_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.detail
       from testing.event() as e $$,
    row(3::bigint, 'submit'::text, 'leased'::text, 'attempted'::text, 1::bigint,
        'worker_1'::name, 'worker_1'::name, false,
        '{"attempt": 1, "fingerprint": "patch-1"}'::jsonb),
    'kernel.submit logs its move'
);

-- == repeated =====================================================================================

select testing.duplicate(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'patch-1', p_approach => 'a new lexer',
           p_result => '{"base":"b1","commit":"c1"}', p_evidence_uri => 'file:///log',
           p_evidence_sha256 => sha256('log')) $$,
    'kernel.submit repeated is a duplicate and writes nothing, however its jsonb is spaced'
);
set local bytea_output = 'escape';
set local extra_float_digits = -15;
set local timezone = 'Asia/Kathmandu';
set local datestyle = 'SQL, DMY';
select testing.duplicate(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'patch-1', p_approach => 'a new lexer',
           p_result => '{"base":"b1","commit":"c1"}', p_evidence_uri => 'file:///log',
           p_evidence_sha256 => sha256('log')) $$,
    'kernel.submit repeated is a duplicate whatever the session''s settings are'
);
set local bytea_output = 'hex';
set local timezone = 'UTC';
set local datestyle = 'ISO, MDY';
select testing.claim_verification();
select testing.duplicate(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'patch-1', p_approach => 'a new lexer',
           p_result => '{"base":"b1","commit":"c1"}', p_evidence_uri => 'file:///log',
           p_evidence_sha256 => sha256('log')) $$,
    'kernel.submit repeated is a duplicate while a verifier holds the campaign'
);
select testing.judge('accepted');
select testing.clock_passes('1 day');
select testing.observed(true);
select testing.duplicate(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'patch-1', p_approach => 'a new lexer',
           p_result => '{"base":"b1","commit":"c1"}', p_evidence_uri => 'file:///log',
           p_evidence_sha256 => sha256('log')) $$,
    'kernel.submit repeated is a duplicate when the campaign is confirmed'
);
select is(testing.state(), 'confirmed', 'kernel.submit''s repeat found the campaign confirmed');
select testing.refused(
    format('select * from kernel.submit(p_class => %L, p_campaign_id => testing.id(), '
           'p_generation => 1, p_token => testing.token(), p_fingerprint => %L, '
           'p_approach => %L, p_result => %L, p_evidence_uri => %L, p_evidence_sha256 => %L)',
           'fix', o.fingerprint, o.approach, o.result, o.uri, o.sha256),
    'stale', format('kernel.submit answers stale to another %s', o.what)
)
from (values
    ('patch-2', 'a new lexer', '{"base": "b1", "commit": "c1"}', 'file:///log', sha256('log'),
     'fingerprint'),
    ('patch-1', null, '{"base": "b1", "commit": "c1"}', 'file:///log', sha256('log'), 'approach'),
    ('patch-1', 'a new lexer', '{"base": "b1", "commit": "c2"}', 'file:///log', sha256('log'),
     'result'),
    ('patch-1', 'a new lexer', '{"base": "b1", "commit": "c1"}', 'file:///lag', sha256('log'),
     'evidence URI'),
    ('patch-1', 'a new lexer', '{"base": "b1", "commit": "c1"}', 'file:///log', sha256('lag'),
     'evidence digest'),
    ('patch-1', 'a new lexer', '{"base": "b1", "commit": "c1"}', null, null, 'lack of evidence')
) as o (fingerprint, approach, result, uri, sha256, what);
select testing.refused(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token('another'), p_fingerprint => 'patch-1',
           p_approach => 'a new lexer', p_result => '{"base":"b1","commit":"c1"}',
           p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) $$,
    'stale', 'kernel.submit is no duplicate under another token, even word for word'
);
select testing.refused(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 2,
           p_token => testing.token(), p_fingerprint => 'patch-1',
           p_approach => 'a new lexer', p_result => '{"base":"b1","commit":"c1"}',
           p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) $$,
    'not_holder', 'kernel.submit is no duplicate under another generation, even word for word'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.submit(
           p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
           p_token => testing.token('worker_1'), p_fingerprint => 'patch-1',
           p_approach => 'a new lexer', p_result => '{"base":"b1","commit":"c1"}',
           p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) $$,
    'stale', 'kernel.submit is no duplicate for another principal, even word for word'
);

-- == fencing ======================================================================================

set local session authorization worker_1;
select testing.leased('fenced');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 1, p_token => testing.token('another'), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'not_holder', 'kernel.submit answers not_holder to another token of the holder'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 1, p_token => testing.token('worker_1'), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'not_holder', 'kernel.submit answers not_holder to another principal with the holder''s token'
);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select testing.claim('fenced', p_worker => 'worker_2');
set local session authorization worker_1;
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 1, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'stale', 'kernel.submit answers stale to who lost the lease, when another has it'
);
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 3, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'not_holder', 'kernel.submit answers not_holder to who guesses the other''s generation'
);
select testing.must('worker_2', format(
    'select * from kernel.release(p_class => %L, p_campaign_id => %L, p_generation => 3, '
    'p_token => %L)', 'fix', testing.id('fenced'), testing.token('worker_2')
));
select testing.claim('fenced');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 1, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'stale',
    'kernel.submit answers stale under the first generation to who holds a later one, by one token'
);
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 5, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'stale', 'kernel.submit answers stale under a generation that is still to come'
);
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 4, '
    'p_token => %L, p_reason => %L)', 'fix', testing.id('fenced'), testing.token(), 'gave up'
));
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 4, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'stale', 'kernel.submit answers stale where this generation''s attempt has failed'
);
select testing.clock_passes('1 minute');
select testing.cancel('fenced');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('fenced'),
           p_generation => 5, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{}') $$,
    'illegal', 'kernel.submit answers illegal under a generation that nobody ever held'
);

-- The holder itself, in a state that is not for this move.
reset session authorization;
grant fencepost_worker to verifier_2;
select testing.must('admin_1', $$
    select * from kernel.enrol(p_class => 'ship', p_principal => 'verifier_2', p_duty => 'worker')
$$);
select testing.verifying('both', 'ship', 'verifier_2');
set local session authorization verifier_2;
select testing.refused(
    $$ select * from kernel.submit(p_class => 'ship', p_campaign_id => testing.id('both', 'ship'),
           p_generation => 2, p_token => testing.token('verifier_2'),
           p_fingerprint => 'f', p_approach => null, p_result => '{"base": "b", "commit": "c"}') $$,
    'illegal', 'kernel.submit answers illegal to the holder of a verification'
);
set local session authorization worker_1;

-- Late, but not fenced.
select testing.leased('late');
select testing.clock_passes('2 hours');
select testing.submit('late');
select row_eq(
    $$ select e.transition, e.is_late from testing.event('late') as e $$,
    row('submit'::text, true),
    'kernel.submit accepts a late result while nobody has taken the campaign, and logs it as late'
);

-- == the next attempt differs =====================================================================

select testing.claim_verification('late');
select testing.judge('rejected', 'late');
select testing.clock_passes('1 minute');
select testing.claim('late');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('late'),
           p_generation => 3, p_token => testing.token(), p_fingerprint => 'patch-1',
           p_approach => null, p_result => '{}') $$,
    'repeated', 'kernel.submit answers repeated to the fingerprint of a rejected attempt'
);
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 3, '
    'p_token => %L, p_reason => %L, p_fingerprint => %L)',
    'fix', testing.id('late'), testing.token(), 'it does not even compile', 'patch-2'
));
select testing.clock_passes('2 minutes');
select testing.claim('late', p_worker => 'worker_2');
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('late'),
           p_generation => 4, p_token => testing.token('worker_2'), p_fingerprint => 'patch-2',
           p_approach => null, p_result => '{}') $$,
    'repeated', 'kernel.submit answers repeated to the fingerprint of a failed attempt of another'
);
select testing.submit('late', p_worker => 'worker_2', p_fingerprint => 'patch-3');
select testing.claim_verification('late');
select testing.judge('accepted', 'late');
select testing.clock_passes('1 day');
select testing.observed(false, 'late', p_summary => 'red again');
select testing.clock_passes('1 hour');
select testing.claim('late', p_worker => 'worker_2');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('late'),
           p_generation => 6, p_token => testing.token('worker_2'), p_fingerprint => 'patch-3',
           p_approach => null, p_result => '{}') $$,
    'repeated', 'kernel.submit answers repeated to the fingerprint of a contradicted attempt'
);
select testing.cancel('late');
select testing.open('late');
select testing.claim('late', p_worker => 'worker_2');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => testing.id('late'),
           p_generation => 1, p_token => testing.token('worker_2'), p_fingerprint => 'patch-1',
           p_approach => null, p_result => '{}') $$,
    'repeated', 'kernel.submit answers repeated to an inherited fingerprint'
);
select testing.leased('other');
select testing.submit('other');
select is(
    testing.state('other'), 'attempted',
    'kernel.submit takes a fingerprint that was refused at another target'
);

-- == what a class wants ===========================================================================

reset session authorization;
select testing.class('evidence', '{"needs_evidence": true}');
set local session authorization worker_1;
select testing.leased('parser', 'evidence');
select testing.refused(
    $$ select * from kernel.submit(p_class => 'evidence',
           p_campaign_id => testing.id('parser', 'evidence'), p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'f', p_approach => null,
           p_result => '{}') $$,
    'no_evidence', 'kernel.submit answers no_evidence in a class that wants it'
);
select testing.submit('parser', 'evidence');
select is(
    testing.state('parser', 'evidence'), 'attempted',
    'kernel.submit takes the submission once it comes with evidence, under the same lease'
);
select testing.leased('parser', 'ship');
select testing.raises(
    format('select * from kernel.submit(p_class => %L, p_campaign_id => %L, p_generation => 1, '
           'p_token => testing.token(), p_fingerprint => %L, p_approach => null, '
           'p_result => %L)', 'ship', testing.id('parser', 'ship'), 'f', r.result),
    'KN102', 'the result names no base and commit',
    format('kernel.submit does not take %s in a class that promotes', r.result)
)
from (values ('{}'), ('{"base": "b"}'), ('{"commit": "c"}'), ('{"base": "b", "commit": 7}'))
    as r (result);

-- == who may ======================================================================================

set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'f', p_approach => null,
           p_result => '{}') $$,
    'forbidden', 'kernel.submit answers forbidden to a worker of another class, whatever is there'
);
set local session authorization worker_1;
select testing.must('admin_1', $$
    select * from kernel.dismiss(p_class => 'ship', p_principal => 'worker_1', p_duty => 'worker')
$$);
select testing.refused(
    $$ select * from kernel.submit(p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'),
           p_generation => 1, p_token => testing.token(), p_fingerprint => 'f',
           p_approach => null, p_result => '{"base": "b", "commit": "c"}') $$,
    'forbidden', 'kernel.submit answers forbidden to who was dismissed in the middle of a lease'
);

-- == misuse =======================================================================================

select testing.raises(
    format('select * from kernel.submit(p_class => %L, p_campaign_id => %L, p_generation => %L, '
           'p_token => %L, p_fingerprint => %L, p_approach => null, p_result => %L)',
           a.class, a.id, a.generation, a.token, a.fingerprint, a.result),
    'KN101', format('argument %s is null', a.missing), format('kernel.submit wants %s', a.missing)
)
from (values
    (null, 1, 1, testing.token(), 'f', '{}', 'p_class'),
    ('fix', null, 1, testing.token(), 'f', '{}', 'p_campaign_id'),
    ('fix', 1, null, testing.token(), 'f', '{}', 'p_generation'),
    ('fix', 1, 1, null, 'f', '{}', 'p_token'),
    ('fix', 1, 1, testing.token(), null, '{}', 'p_fingerprint'),
    ('fix', 1, 1, testing.token(), 'f', null, 'p_result')
) as a (class, id, generation, token, fingerprint, result, missing);
select testing.raises(
    format('select * from kernel.submit(p_class => %L, p_campaign_id => 1, p_generation => 1, '
           'p_token => testing.token(), p_fingerprint => %L, p_approach => %L, p_result => %L, '
           'p_evidence_uri => %L, p_evidence_sha256 => %L)',
           'fix', a.fingerprint, a.approach, a.result, a.uri, a.sha256),
    a.code, a.message, format('kernel.submit does not take %s', a.what)
)
from (values
    ('', null, '{}', null, null, 'KN102', 'argument p_fingerprint is empty',
     'an empty fingerprint'),
    (repeat('f', 201), null, '{}', null, null, 'KN103', 'argument p_fingerprint is too long',
     'a fingerprint of 201 bytes'),
    ('f', repeat('a', 4097), '{}', null, null, 'KN103', 'argument p_approach is too long',
     'an approach of 4097 bytes'),
    ('f', null, '[]', null, null, 'KN102', 'argument p_result is not a jsonb object',
     'an array as result'),
    ('f', null, 'null', null, null, 'KN102', 'argument p_result is not a jsonb object',
     'a jsonb null as result'),
    ('f', null, jsonb_build_object('r', repeat('r', 65536))::text, null, null, 'KN103',
     'argument p_result is too long', 'a result of more than 65536 bytes'),
    ('f', null, '{}', 'file:///log', null, 'KN101', 'evidence is a URI together with its SHA-256',
     'a URI without a digest'),
    ('f', null, '{}', null, sha256('log'), 'KN101', 'evidence is a URI together with its SHA-256',
     'a digest without a URI'),
    ('f', null, '{}', 'file:///log', '\x00'::bytea, 'KN102',
     'p_evidence_sha256 is not a SHA-256', 'a digest of one byte'),
    ('f', null, '{}', ' ', sha256('log'), 'KN102', 'argument p_evidence_uri is empty',
     'a blank URI'),
    ('f', null, '{}', repeat('u', 4097), sha256('log'), 'KN103',
     'argument p_evidence_uri is too long', 'a URI of 4097 bytes')
) as a (fingerprint, approach, result, uri, sha256, code, message, what);
select testing.raises(
    $$ select * from kernel.submit(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
           p_token => testing.token(), p_fingerprint => 'f', p_approach => null,
           p_result => '{}') $$,
    'KN108', 'class fix has no campaign -1', 'kernel.submit knows its campaigns'
);

select finish();
rollback;
