-- kernel.report_observation makes the move that follows from what was seen, if one does.
\ir ../_support/fixture.psql
select plan(79);

select testing.callable_by('kernel.report_observation', 'sensor');

-- Two halves of an observation, told apart by a name, which is its token.
create function testing.begins(
    p_name text, p_target text default 'parser', p_class text default 'fix',
    p_sensor name default 'sensor_1'
)
    returns void language sql
as $fn$
    select testing.must(p_sensor, format(
        'select * from kernel.begin_observation(p_class => %L, p_target => %L, p_token => %L)',
        p_class, p_target, testing.token(p_name)
    ));
$fn$;
create function testing.number(
    p_name text, p_target text default 'parser', p_class text default 'fix'
)
    returns bigint language sql security definer
as $fn$
    select o.observation_no from ledger.observation as o
    where o.class = p_class and o.target = p_target
      and o.token_sha256 = sha256(uuid_send(testing.token(p_name)));
$fn$;
create function testing.reports(
    p_name text, p_is_green boolean, p_target text default 'parser', p_class text default 'fix',
    p_sensor name default 'sensor_1', p_summary text default null
)
    returns text language sql
as $fn$
    select concat_ws(' ', r.a ->> 'note', r.a ->> 'state')
        || case when (r.a ->> 'moved')::boolean then ', moved' else '' end
    from testing.must(p_sensor, format(
        'select * from kernel.report_observation(p_class => %L, p_target => %L, p_number => %L, '
        'p_token => %L, p_is_green => %L, p_summary => %L)', p_class, p_target,
        testing.number(p_name, p_target, p_class), testing.token(p_name), p_is_green, p_summary
    )) as r (a);
$fn$;

-- == red, where nothing is open ===================================================================

select testing.target_in('parser', 'fix');
set local session authorization sensor_1;
select testing.begins('first');
select testing.clock_passes('2 minutes');
select results_eq(
    $$ select * from kernel.report_observation(
           p_class => 'fix', p_target => 'parser', p_number => 1, p_token => testing.token('first'),
           p_is_green => false, p_summary => 'three tests are red',
           p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) $$,
    $$ values ('ok', false, true, 'open', 'fix', testing.id(), 0::bigint, 'ready',
               null::timestamptz, null::text) $$,
    'kernel.report_observation opens a campaign where red was seen and none was open'
);
select row_eq(
    $$ select c.state, c.generation, c.opened_at, c.opened_by, c.opening_observation_no,
              c.previous_campaign_id, c.desired_state, c.acceptance, c.promotes, c.separate_family,
              c.needs_evidence, c.attempt_count, c.failure_count, c.loss_count, c.next_attempt_at
       from testing.campaign() as c $$,
    row('ready'::text, 0::bigint, timestamptz '2026-09-01 03:02+00', 'sensor_1'::name, 1::bigint,
        null::bigint, '{"tests": "green"}'::jsonb,
        '{"command": ["make", "test"], "time_limit_s": 600, "protected": ["tests"]}'::jsonb,
        false, false, false, 0, 0, 0, timestamptz '2026-09-01 03:02+00'),
    'kernel.report_observation copies into the campaign what acceptance means, as it is now'
);
select row_eq(
    $$ select o.reported_at, o.is_green, o.summary, o.evidence_uri, o.evidence_sha256, o.note,
              o.moved_campaign_id
       from testing.observation() as o $$,
    row(timestamptz '2026-09-01 03:02+00', false, 'three tests are red'::text,
        'file:///log'::text, sha256('log'), 'open'::text, testing.id()),
    'kernel.report_observation records what was seen, with its evidence'
);
select row_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.detail
       from testing.event() as e $$,
    row(1::bigint, 'open'::text, 'none'::text, 'ready'::text, 0::bigint, 'sensor_1'::name,
        null::name, '{"observation": 1}'::jsonb),
    'kernel.report_observation logs the opening as event 1'
);
select row_eq(
    $$ select t.next_slot_at, t.slot_begun_at from testing.target() as t $$,
    row(timestamptz '2026-09-02 03:00+00', null::timestamptz),
    'kernel.report_observation consumes the slot'
);

-- Repeated, and otherwise.
select testing.duplicate(
    $$ select * from kernel.report_observation(
           p_class => 'fix', p_target => 'parser', p_number => 1, p_token => testing.token('first'),
           p_is_green => false, p_summary => 'three tests are red',
           p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) $$,
    'kernel.report_observation repeated is a duplicate and writes nothing'
);
select is(
    (select r.campaign_id
     from kernel.report_observation(
         p_class => 'fix', p_target => 'parser', p_number => 1, p_token => testing.token('first'),
         p_is_green => false, p_summary => 'three tests are red',
         p_evidence_uri => 'file:///log', p_evidence_sha256 => sha256('log')) as r),
    testing.id(), 'kernel.report_observation repeated names the campaign that it moved'
);
select testing.refused(
    format('select * from kernel.report_observation(p_class => %L, p_target => %L, p_number => 1, '
           'p_token => testing.token(%L), p_is_green => %L, p_summary => %L, '
           'p_evidence_uri => %L, p_evidence_sha256 => %L)',
           'fix', 'parser', 'first', o.is_green, o.summary, o.uri, o.sha256),
    'stale', format('kernel.report_observation answers stale to another %s', o.what)
)
from (values
    (true, 'three tests are red', 'file:///log', sha256('log'), 'colour'),
    (false, 'four tests are red', 'file:///log', sha256('log'), 'summary'),
    (false, 'three tests are red', 'file:///lag', sha256('log'), 'evidence URI'),
    (false, 'three tests are red', 'file:///log', sha256('lag'), 'evidence digest')
) as o (is_green, summary, uri, sha256, what);
select testing.begins('second');
select testing.refused(
    $$ select * from kernel.report_observation(
           p_class => 'fix', p_target => 'parser', p_number => 2, p_token => testing.token('first'),
           p_is_green => false) $$,
    'not_holder', 'kernel.report_observation answers not_holder to another observation''s token'
);
set local session authorization sensor_2;
select testing.refused(
    $$ select * from kernel.report_observation(
           p_class => 'fix', p_target => 'parser', p_number => 2,
           p_token => testing.token('second'), p_is_green => false) $$,
    'not_holder', 'kernel.report_observation answers not_holder to who did not begin it'
);
select is(
    testing.reports('second', false), 'in_progress ready',
    'kernel.report_observation opens no second campaign: red is in_progress'
);

-- Opened or closed since it began.
select testing.target_in('a', 'fix');
select testing.begins('slow', 'a');
select testing.begins('quick', 'a');
select testing.reports('quick', false, 'a');
select is(
    testing.reports('slow', false, 'a'), 'superseded ready',
    'kernel.report_observation moves nothing once a later-numbered observation was reported'
);
select testing.cancel('a');
select testing.begins('over a cancelled one', 'a');
select is(
    testing.reports('over a cancelled one', false, 'a'), 'open ready, moved',
    'kernel.report_observation opens anew what was cancelled, without quiet_for'
);
select testing.begins('before its end', 'a');
select testing.cancel('a');
select is(
    testing.reports('before its end', false, 'a'), 'superseded',
    'kernel.report_observation opens nothing where a campaign has closed since it began'
);
select testing.begins('before another', 'a');
select testing.must('admin_1', format(
    'select * from kernel.open_campaign(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'a', testing.token('opened in between')
));
select testing.cancel('a');
select is(
    testing.reports('before another', false, 'a'), 'superseded',
    'kernel.report_observation opens nothing where one has opened and closed since it began'
);

-- Quiet.
select testing.open('b');
select testing.cancel('b', p_quiet_for => '2 hours');
select testing.begins('in the quiet', 'b');
select is(
    testing.reports('in the quiet', false, 'b'), 'quiet',
    'kernel.report_observation opens nothing while quiet_for runs'
);
select testing.begins('out of the quiet', 'b');
select testing.clock_passes('2 hours');
select is(
    testing.reports('out of the quiet', false, 'b'), 'open ready, moved',
    'kernel.report_observation opens again once quiet_for is over'
);

-- What a campaign inherits.
select testing.claim('parser');
select testing.must('worker_1', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L, p_reason => %L)', 'fix', testing.id(), testing.token(), 'it does not compile'
));
select set_config('test.first', testing.id()::text, true);
select testing.cancel();
select testing.clock_passes('23 hours 59 minutes 59 seconds');
select testing.observed(false);
select row_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.failure_reason, c.attempt_count,
              c.generation
       from testing.campaign() as c $$,
    row(current_setting('test.first')::bigint, 1, 'it does not compile'::text, 0, 0::bigint),
    'kernel.report_observation lets a campaign inherit that opens within reopen_within of the last'
);
select testing.cancel();
select testing.clock_passes('1 day');
select testing.observed(false);
select row_eq(
    $$ select c.previous_campaign_id, c.failure_count, c.failure_reason
       from testing.campaign() as c $$,
    row(null::bigint, 0, null::text),
    'kernel.report_observation lets none inherit that opens later'
);

select testing.clear();

-- == green, where nothing is open =================================================================

select testing.target_in('green', 'fix');
select testing.begins('green', 'green');
select is(
    testing.reports('green', true, 'green'), '',
    'kernel.report_observation records green where nothing is open, and moves nothing'
);
select is(
    (testing.target('green')).next_slot_at, testing.clock() + interval '1 day',
    'kernel.report_observation consumes the slot also with green'
);

-- == the slots ====================================================================================

select testing.clock_is('2026-10-01 03:00+00');
select testing.target_in(
    'slots', 'fix', '{"observe_every": "1 hour", "observe_within": "5 minutes"}'
);
select testing.begins('on time', 'slots');
select testing.clock_is('2026-10-01 06:30+00');
select testing.reports('on time', true, 'slots');
select is(
    (testing.target('slots')).next_slot_at, timestamptz '2026-10-01 07:00+00',
    'kernel.report_observation goes on with the next slot that is not yet past, on the same beat'
);
select testing.begins('not scheduled', 'slots');
select testing.reports('not scheduled', true, 'slots');
select is(
    (testing.target('slots')).next_slot_at, timestamptz '2026-10-01 07:00+00',
    'kernel.report_observation of an unscheduled observation consumes no slot'
);
select testing.clock_is('2026-10-01 07:00+00');
select testing.begins('first of the slot', 'slots');
select testing.clock_is('2026-10-01 07:05+00');
select testing.begins('second of the slot', 'slots');
select testing.reports('second of the slot', true, 'slots');
select testing.clock_is('2026-10-01 08:00+00');
select testing.begins('of the next slot', 'slots');
select is(
    testing.reports('first of the slot', true, 'slots'), 'superseded',
    'kernel.report_observation of a slot that was offered again is superseded'
);
select row_eq(
    $$ select t.next_slot_at, t.slot_begun_at from testing.target('slots') as t $$,
    row(timestamptz '2026-10-01 08:00+00', timestamptz '2026-10-01 08:00+00'),
    'kernel.report_observation consumes its own slot only, not one begun since'
);

-- == confirm ======================================================================================

select testing.clock_is('2026-11-01 03:00+00');
select testing.verified('c');
select testing.begins('unscheduled', 'c');
select is(
    testing.reports('unscheduled', true, 'c'), 'not_scheduled verified',
    'kernel.report_observation confirms nothing out of schedule'
);
select testing.clock_passes('1 day');
select testing.begins('confirming', 'c');
select is(
    testing.reports('confirming', true, 'c'), 'confirm confirmed, moved',
    'kernel.report_observation confirms a verified campaign with the next scheduled green'
);
select row_eq(
    $$ select c.state, c.closed_at, c.generation from testing.campaign('c') as c $$,
    row('confirmed'::text, testing.clock(), 2::bigint),
    'kernel.report_observation closes what it confirms'
);
select row_eq(
    $$ select a.ending, a.ended_at from testing.attempt('c') as a $$,
    row('confirmed'::text, testing.clock()),
    'kernel.report_observation ends the attempt as confirmed'
);
select results_eq(
    $$ select * from testing.moves('c') $$,
    array['1 open: none to ready', '2 claim: ready to leased', '3 submit: leased to attempted',
          '4 claim_verification: attempted to verifying', '5 accept: verifying to verified',
          '6 confirm: verified to confirmed'],
    'kernel.report_observation ends a log without gaps'
);
select row_eq(
    $$ select e.by_principal, e.holder, e.detail from testing.event('c') as e $$,
    row('sensor_1'::name, null::name, jsonb_build_object('observation', 3)),
    'kernel.report_observation names in the event the observation that confirmed'
);
select testing.verified('d', 'ship');
select testing.clock_passes('1 day');
select testing.observed(true, 'd', 'ship');
select is(
    testing.state('d', 'ship'), 'confirmed',
    'kernel.report_observation confirms what was promoted as well'
);

-- Not before it was verified, not under another generation, not too soon.
select testing.verifying('e');
select testing.clock_passes('1 day');
select testing.begins('before the verdict', 'e');
select testing.must('verifier_1', format(
    'select * from kernel.renew(p_class => %L, p_campaign_id => %L, p_generation => 2, '
    'p_token => %L)', 'fix', testing.id('e'), testing.token('verifier_1')
));
select testing.judge('accepted', 'e');
select is(
    testing.reports('before the verdict', true, 'e'), 'not_settled verified',
    'kernel.report_observation confirms nothing by an observation that began before the verdict'
);
select testing.clock_passes('1 day');
select testing.begins('under an earlier generation', 'e');
select testing.must('admin_1', format(
    'select * from kernel.park(p_class => %L, p_campaign_id => %L, p_generation => 2)',
    'fix', testing.id('e')
));
select testing.must('admin_1', format(
    'select * from kernel.redrive(p_class => %L, p_campaign_id => %L, p_generation => 3)',
    'fix', testing.id('e')
));
select is(testing.state('e'), 'verified', 'kernel.report_observation''s next test has its state');
select is(
    testing.reports('under an earlier generation', true, 'e'), 'not_settled verified',
    'kernel.report_observation confirms nothing under another generation than it saw'
);

select testing.target_in('f', 'fix', '{"settle": "2 hours", "observe_every": "1 hour"}');
select testing.verified('f');
select testing.clock_passes('1 hour 59 minutes');
select testing.begins('too soon', 'f');
select testing.clock_passes('1 hour');
select is(
    testing.reports('too soon', true, 'f'), 'not_settled verified',
    'kernel.report_observation confirms nothing that began before "settle" had passed'
);
select testing.clock_passes('1 minute');
select testing.begins('settled', 'f');
select is(
    testing.reports('settled', true, 'f'), 'confirm confirmed, moved',
    'kernel.report_observation confirms once "settle" had passed when it began'
);

-- Of an earlier campaign of the target.
select testing.verified('g');
select testing.clock_passes('1 day');
select testing.begins('of the one before', 'g');
select testing.cancel('g');
select testing.must('admin_1', format(
    'select * from kernel.open_campaign(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'g', testing.token('g')
));
select testing.claim('g');
select testing.submit('g', p_fingerprint => 'patch-2');
select testing.claim_verification('g');
select testing.judge('accepted', 'g');
select is(
    testing.reports('of the one before', true, 'g'), 'superseded verified',
    'kernel.report_observation confirms no campaign but the one it saw'
);

-- Who took part.
reset session authorization;
grant fencepost_sensor to worker_1, verifier_1, verifier_2;
select testing.must('admin_1', format(
    'select * from kernel.enrol(p_class => %L, p_principal => %L, p_duty => %L)',
    c.class, p.name, 'sensor'
))
from unnest(array['fix', 'ship']) as c (class),
     unnest(array['worker_1', 'verifier_1', 'verifier_2']) as p (name);
select testing.verified('h');
select testing.clock_passes('1 day');
select testing.begins('by the worker', 'h', p_sensor => 'worker_1');
select is(
    testing.reports('by the worker', true, 'h', p_sensor => 'worker_1'),
    'not_independent verified',
    'kernel.report_observation does not let the worker confirm its own attempt'
);
select testing.clock_passes('1 day');
select testing.begins('by the verifier', 'h', p_sensor => 'verifier_1');
select is(
    testing.reports('by the verifier', false, 'h', p_sensor => 'verifier_1'),
    'not_independent verified',
    'kernel.report_observation does not let the verifier contradict what it accepted'
);
select testing.clock_passes('1 day');
select testing.begins('by another verifier', 'h', p_sensor => 'verifier_2');
select is(
    testing.reports('by another verifier', true, 'h', p_sensor => 'verifier_2'),
    'confirm confirmed, moved',
    'kernel.report_observation lets a principal confirm that took no part'
);
select testing.accepted('i');
select testing.must('verifier_2', format(
    'select * from kernel.claim_promotion(p_class => %L, p_token => %L)', 'ship',
    testing.token('verifier_2')
));
select testing.moved('i', 'ship', 'verifier_2');
select testing.must('verifier_2', format(
    'select * from kernel.promote(p_class => %L, p_campaign_id => %L, p_generation => %s, '
    'p_token => %L)', 'ship', testing.id('i', 'ship'), testing.generation('i', 'ship'),
    testing.token('verifier_2')
));
select testing.clock_passes('1 day');
select testing.begins('by who promoted', 'i', 'ship', 'verifier_2');
select is(
    testing.reports('by who promoted', true, 'i', 'ship', 'verifier_2'),
    'not_independent verified',
    'kernel.report_observation does not let who promoted confirm'
);
select testing.clock_passes('1 day');
select testing.begins('by who accepted', 'i', 'ship', 'verifier_1');
select is(
    testing.reports('by who accepted', true, 'i', 'ship', 'verifier_1'),
    'not_independent verified',
    'kernel.report_observation does not let who accepted confirm, though another promoted'
);
set local session authorization sensor_1;

-- == contradict ===================================================================================

select testing.verified('j');
select testing.begins('red out of schedule', 'j');
select is(
    testing.reports('red out of schedule', false, 'j'), 'not_scheduled verified',
    'kernel.report_observation contradicts nothing out of schedule'
);
select testing.clock_passes('1 day');
select testing.begins('contradicting', 'j');
select is(
    testing.reports('contradicting', false, 'j', p_summary => 'red again'),
    'contradict ready, moved',
    'kernel.report_observation contradicts a verified campaign with the next scheduled red'
);
select row_eq(
    $$ select c.state, c.failure_count, c.failure_reason, c.next_attempt_at, c.generation
       from testing.campaign('j') as c $$,
    row('ready'::text, 1, 'red again'::text, testing.clock() + interval '1 minute', 2::bigint),
    'kernel.report_observation counts a contradiction as a failure, and waits'
);
select row_eq(
    $$ select a.ending, a.reason from testing.attempt('j') as a $$,
    row('contradicted'::text, 'red again'::text),
    'kernel.report_observation ends the attempt as contradicted, with what was seen'
);
reset session authorization;
select testing.class('tight', '{"attempt_budget": 1}');
set local session authorization sensor_1;
select testing.verified('k', 'tight');
select testing.clock_passes('1 day');
select testing.begins('over the budget', 'k', 'tight');
select is(
    testing.reports('over the budget', false, 'k', 'tight'), 'contradict parked, moved',
    'kernel.report_observation parks what it contradicts when attempt_budget has run out'
);
select row_eq(
    $$ select c.parked_for, c.failure_reason from testing.campaign('k', 'tight') as c $$,
    row('attempt_budget'::text, 'the next scheduled observation was red'::text),
    'kernel.report_observation says which budget has run out, and why where nothing was said'
);
select testing.clock_passes('1 day');
select testing.begins('of a parked one', 'k', 'tight');
select is(
    testing.reports('of a parked one', true, 'k', 'tight'), 'in_progress parked',
    'kernel.report_observation moves nothing that is parked'
);

-- == lapse ========================================================================================

select testing.open('l');
select testing.begins('green out of schedule', 'l');
select is(
    testing.reports('green out of schedule', true, 'l'), 'not_scheduled ready',
    'kernel.report_observation lapses nothing out of schedule'
);
select testing.clock_passes('1 day');
select testing.begins('lapsing', 'l');
select is(
    testing.reports('lapsing', true, 'l'), 'lapse lapsed, moved',
    'kernel.report_observation lapses a ready campaign with a scheduled green'
);
select is(
    (testing.campaign('l')).closed_at, testing.clock(),
    'kernel.report_observation closes what it lapses'
);
select testing.clear();
select testing.leased('m');
select testing.clock_passes('1 day');
select testing.begins('while leased', 'm');
select is(
    testing.reports('while leased', true, 'm'), 'in_progress leased',
    'kernel.report_observation lapses nothing that a worker holds'
);
select testing.clock_passes('1 day');
select testing.begins('seen leased', 'm');
select testing.must('worker_1', format(
    'select * from kernel.release(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L)', 'fix', testing.id('m'), testing.token()
));
select is(
    testing.reports('seen leased', true, 'm'), 'superseded ready',
    'kernel.report_observation lapses nothing that was leased when it began'
);
select testing.clock_passes('1 day');
select testing.begins('seen ready', 'm');
select testing.claim('m');
select testing.must('worker_1', format(
    'select * from kernel.release(p_class => %L, p_campaign_id => %L, p_generation => 2, '
    'p_token => %L)', 'fix', testing.id('m'), testing.token()
));
select is(
    testing.reports('seen ready', true, 'm'), 'superseded ready',
    'kernel.report_observation lapses nothing that was leased in between'
);
select testing.clock_passes('1 day');
select testing.claim('m');
select testing.submit('m');
select testing.claim_verification('m');
select testing.judge('rejected', 'm');
select testing.begins('after a submission', 'm');
select is(
    testing.reports('after a submission', true, 'm'), 'in_progress ready',
    'kernel.report_observation lapses nothing for which an attempt was ever submitted'
);
select testing.begins('red while ready', 'm');
select is(
    testing.reports('red while ready', false, 'm'), 'in_progress ready',
    'kernel.report_observation moves nothing with red while the campaign is ready'
);
select is(
    (select count(*) from testing.refusals('sensor_1')), 5::bigint,
    'kernel.report_observation refuses nothing for moving nothing'
);

-- == who may ======================================================================================

set local session authorization sensor_elsewhere;
select testing.refused(
    $$ select * from kernel.report_observation(p_class => 'fix', p_target => 'no such',
           p_number => 1, p_token => testing.token(), p_is_green => true) $$,
    'forbidden',
    'kernel.report_observation answers forbidden to a sensor of another class, whatever is there'
);

-- == misuse =======================================================================================

set local session authorization sensor_1;
select testing.raises(
    format('select * from kernel.report_observation(p_class => %L, p_target => %L, '
           'p_number => %L, p_token => %L, p_is_green => %L)',
           a.class, a.target, a.number, a.token, a.is_green),
    'KN101', format('argument %s is null', a.missing),
    format('kernel.report_observation wants %s', a.missing)
)
from (values
    (null, 'parser', 1, testing.token(), true, 'p_class'),
    ('fix', null, 1, testing.token(), true, 'p_target'),
    ('fix', 'parser', null, testing.token(), true, 'p_number'),
    ('fix', 'parser', 1, null, true, 'p_token'),
    ('fix', 'parser', 1, testing.token(), null, 'p_is_green')
) as a (class, target, number, token, is_green, missing);
select testing.raises(
    format('select * from kernel.report_observation(p_class => %L, p_target => %L, '
           'p_number => 1, p_token => testing.token(), p_is_green => true, p_summary => %L, '
           'p_evidence_uri => %L, p_evidence_sha256 => %L)',
           'fix', 'parser', a.summary, a.uri, a.sha256),
    a.code, a.message, format('kernel.report_observation does not take %s', a.what)
)
from (values
    ('', null, null, 'KN102', 'argument p_summary is empty', 'an empty summary'),
    (repeat('s', 4097), null, null, 'KN103', 'argument p_summary is too long',
     'a summary of 4097 bytes'),
    (null, 'file:///log', null, 'KN101', 'evidence is a URI together with its SHA-256',
     'a URI without a digest'),
    (null, 'file:///log', '\x00'::bytea, 'KN102', 'p_evidence_sha256 is not a SHA-256',
     'a digest of one byte')
) as a (summary, uri, sha256, code, message, what);
select testing.raises(
    format('select * from kernel.report_observation(p_class => %L, p_target => %L, '
           'p_number => %L, p_token => testing.token(), p_is_green => true)',
           'fix', a.target, a.number),
    a.code, a.message, format('kernel.report_observation knows no %s', a.what)
)
from (values
    ('no such', 1, 'KN107', 'class fix has no such target', 'such target'),
    (' ', 1, 'KN102', 'argument p_target is empty', 'blank name'),
    (repeat('x', 201), 1, 'KN103', 'argument p_target is too long', 'longer name'),
    ('parser', 0, 'KN110', 'this target has no observation 0', 'number 0'),
    ('parser', -1, 'KN110', 'this target has no observation -1', 'negative number'),
    ('parser', 1000, 'KN110', 'this target has no observation 1000', 'number to come')
) as a (target, number, code, message, what);

select finish();
rollback;
