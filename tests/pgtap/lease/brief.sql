-- kernel.brief tells the holder of a lease what there is to do, and nobody else.
\ir ../_support/fixture.psql
select plan(30);

select testing.callable_by('kernel.brief', 'worker');

set local session authorization worker_1;
select testing.leased();
select testing.raises(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'KN113', 'the lease was granted in this same transaction',
    'kernel.brief shows nothing that a rollback could still undo'
);
savepoint inner_transaction;
select testing.raises(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'KN113', null, 'kernel.brief is not deceived by a savepoint'
);
release savepoint inner_transaction;

-- == what it tells ================================================================================

select testing.as_if_committed();
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, attempt_no, attempt_limit
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    $$ values ('ok', false, false, null::text, 'fix', testing.id(), 1::bigint, 'leased',
               timestamptz '2026-09-01 03:15+00', null::text, 1, interval '1 hour') $$,
    'kernel.brief answers with the campaign as it stands'
);
select results_eq(
    $$ select target, location, desired_state, acceptance
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    $$ values ('parser', '{"repository": "/srv/parser.git", "ref": "refs/heads/main"}'::jsonb,
               '{"tests": "green"}'::jsonb,
               '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'::jsonb
              ) $$,
    'kernel.brief says where, what should be, and what must pass'
);
select results_eq(
    $$ select observation, attempts, refused_fingerprints, previous_campaign_id
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    $$ values ('{"number": 1, "is_green": false, "summary": "it is red", "evidence_uri": null,
                 "evidence_sha256": null, "reported_at": "2026-09-01T03:00:00+00:00"}'::jsonb,
               '[]'::jsonb, '{}'::text[], null::bigint) $$,
    'kernel.brief shows the red observation that opened it, and no earlier attempt'
);
select is(
    (select array_agg(k.key order by k.key)
     from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                       p_token => testing.token()) as b
     cross join jsonb_object_keys(to_jsonb(b)) as k (key)
     where k.key like '%token%' or k.key like '%principal%'),
    null, 'kernel.brief names no token and no principal'
);

-- The acceptance is frozen, the location is read as it is.
select testing.must('admin_1', $$
    select * from kernel.define_target(
        p_class => 'fix', p_target => 'parser', p_location => '{"repository": "/moved"}',
        p_desired_state => '{"tests": "grey"}', p_acceptance => '{"command": ["true"]}')
$$);
select results_eq(
    $$ select location, desired_state, acceptance -> 'command'
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    $$ values ('{"repository": "/moved"}'::jsonb, '{"tests": "green"}'::jsonb,
               '["make", "test"]'::jsonb) $$,
    'kernel.brief says what was wanted when the campaign opened, and where the target is now'
);

-- Every earlier attempt.
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L, p_reason => %L, p_approach => %L, p_fingerprint => %L)',
    'fix', testing.id(), testing.token(), 'it does not compile', 'a new lexer', 'patch-0'
));
select testing.clock_passes('1 minute');
select testing.claim(p_worker => 'worker_2');
select testing.submit(p_worker => 'worker_2');
select testing.claim_verification();
select testing.judge('rejected');
select testing.clock_passes('2 minutes');
select testing.claim();
select testing.must('worker_1', format(
    'select * from kernel.release(p_class => %L, p_campaign_id => %L, p_generation => %s, '
    'p_token => %L)', 'fix', testing.id(), testing.generation(), testing.token()
));
select testing.claim();
select results_eq(
    $$ select a ->> 'attempt_no', a ->> 'ending', a ->> 'reason', a ->> 'approach',
              a ->> 'fingerprint', a ->> 'principal'
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                         p_generation => testing.generation(), p_token => testing.token()) as b
       cross join jsonb_array_elements(b.attempts) as a $$,
    $$ values ('1', 'failed', 'it does not compile', 'a new lexer', 'patch-0', 'worker_1'),
              ('2', 'rejected', 'a test is red', 'by patch-1', 'patch-1', 'worker_2'),
              ('3', 'released', null, null, null, 'worker_1') $$,
    'kernel.brief lists every earlier attempt with its reason, oldest first, not the present one'
);
select is(
    (select b.attempts -> 0
     from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                       p_generation => testing.generation(), p_token => testing.token()) as b),
    jsonb_build_object(
        'campaign_id', testing.id(), 'attempt_no', 1, 'ending', 'failed',
        'reason', 'it does not compile', 'approach', 'a new lexer', 'fingerprint', 'patch-0',
        'principal', 'worker_1', 'begun_at', '2026-09-01T03:00:00+00:00',
        'ended_at', '2026-09-01T03:00:00+00:00'
    ),
    'kernel.brief tells of an attempt these nine things'
);
set local timezone = 'Asia/Kathmandu';
set local datestyle = 'SQL, DMY';
select is(
    (select b.attempts -> 0 ->> 'begun_at'
     from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                       p_generation => testing.generation(), p_token => testing.token()) as b),
    '2026-09-01T03:00:00+00:00',
    'kernel.brief writes times in UTC, whatever the session''s time zone and style are'
);
set local timezone = 'UTC';
set local datestyle = 'ISO, MDY';
select is(
    (select b.refused_fingerprints
     from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                       p_generation => testing.generation(), p_token => testing.token()) as b),
    array['patch-0', 'patch-1'],
    'kernel.brief lists the fingerprints of what failed or was rejected'
);

-- A campaign opened soon after inherits; one opened by an admin has no observation.
select set_config('test.first', testing.id()::text, true);
select testing.cancel();
select testing.clock_passes('23 hours');
select testing.must('admin_1', format(
    'select * from kernel.open_campaign(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'parser', testing.token('opening')
));
select testing.claim();
select results_eq(
    $$ select previous_campaign_id, observation, refused_fingerprints, jsonb_array_length(attempts),
              attempts -> 0 ->> 'campaign_id', attempts -> 3 ->> 'ending', attempt_no
       from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                         p_generation => testing.generation(), p_token => testing.token()) $$,
    $$ values (current_setting('test.first')::bigint, null::jsonb, array['patch-0', 'patch-1'], 4,
               current_setting('test.first'), 'withdrawn', 1) $$,
    'kernel.brief tells also of the attempts of the campaign that this one inherits from'
);

-- An expired lease is still held.
select testing.clock_passes('1 hour');
select is(
    (select b.outcome
     from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                       p_generation => testing.generation(), p_token => testing.token()) as b),
    'ok', 'kernel.brief answers under a lease that has run out and that nobody has taken'
);
select is(
    (select count(*) from testing.refusals()), 0::bigint,
    'kernel.brief has recorded no refusal up to here'
);

-- == refused ======================================================================================

select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 0, p_token => testing.token()) $$,
    'stale', 'kernel.brief answers stale to an earlier generation'
);
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 2, p_token => testing.token()) $$,
    'stale', 'kernel.brief answers stale to a generation that is still to come'
);
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token('another')) $$,
    'not_holder', 'kernel.brief answers not_holder to the holder''s name with another token'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'not_holder', 'kernel.brief answers not_holder to another principal with the holder''s token'
);
set local session authorization worker_1;
select testing.submit(p_fingerprint => 'patch-2');
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'stale', 'kernel.brief answers stale once the attempt was submitted'
);
select testing.open('lexer');
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id('lexer'),
                                  p_generation => 0, p_token => testing.token()) $$,
    'illegal', 'kernel.brief answers illegal where nobody holds the campaign'
);
set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'forbidden', 'kernel.brief answers forbidden to a worker of another class'
);
select testing.refused(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => -1,
                                  p_generation => 1, p_token => testing.token()) $$,
    'forbidden', 'kernel.brief answers forbidden also where there is no such campaign'
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
    $$ select * from kernel.brief(p_class => 'ship', p_campaign_id => testing.id('both', 'ship'),
           p_generation => 2, p_token => testing.token('verifier_2')) $$,
    'illegal', 'kernel.brief answers illegal to the holder of a verification'
);
set local session authorization worker_1;

-- == misuse =======================================================================================

set local session authorization worker_1;
select testing.raises(
    $$ select * from kernel.brief(p_class => 'fix', p_campaign_id => -1,
                                  p_generation => 1, p_token => testing.token()) $$,
    'KN108', 'class fix has no campaign -1', 'kernel.brief knows its campaigns'
);
select testing.raises(
    $$ select * from kernel.brief(p_class => 'ship', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'KN108', null, 'kernel.brief finds no campaign under another class'
);
select testing.raises(
    format('select * from kernel.brief(p_class => %L, p_campaign_id => %L, p_generation => %L, '
           'p_token => %L)', a.class, a.id, a.generation, a.token),
    'KN101', format('argument %s is null', a.missing), format('kernel.brief wants %s', a.missing)
)
from (values
    (null, 1, 1, testing.token(), 'p_class'),
    ('fix', null, 1, testing.token(), 'p_campaign_id'),
    ('fix', 1, null, testing.token(), 'p_generation'),
    ('fix', 1, 1, null, 'p_token')
) as a (class, id, generation, token, missing);

select finish();
rollback;
