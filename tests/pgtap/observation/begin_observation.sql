-- kernel.begin_observation takes the target's next number and notes what is open before the look.
\ir ../_support/fixture.psql
select plan(32);

select testing.callable_by('kernel.begin_observation', 'sensor');

select testing.target_in(
    'parser', 'fix', '{"observe_every": "1 day", "observe_within": "10 minutes"}'
);
select testing.target_in('lexer', 'fix');

-- == what it does =================================================================================

set local session authorization sensor_1;
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, number, is_scheduled
       from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                     p_token => testing.token('one')) $$,
    $$ values ('ok', false, false, null::text, 'fix', null::bigint, null::bigint, null::text,
               null::timestamptz, null::text, 1::bigint, true) $$,
    'kernel.begin_observation gives number 1, in the slot that is due as the target is defined'
);
select row_eq(
    $$ select o.observation_no, o.principal, o.token_sha256, o.begun_at, o.slot_at,
              o.seen_campaign_id, o.seen_state, o.seen_generation, o.last_campaign_id,
              o.reported_at
       from testing.observation() as o $$,
    row(1::bigint, 'sensor_1'::name, sha256(uuid_send(testing.token('one'))),
        timestamptz '2026-09-01 03:00+00', timestamptz '2026-09-01 03:00+00', null::bigint,
        null::text, null::bigint, null::bigint, null::timestamptz),
    'kernel.begin_observation writes who began it, when, and that nothing was open'
);
select row_eq(
    $$ select t.observation_no, t.next_slot_at, t.slot_begun_at from testing.target() as t $$,
    row(1::bigint, timestamptz '2026-09-01 03:00+00', timestamptz '2026-09-01 03:00+00'),
    'kernel.begin_observation takes the slot, which stays due until it is reported'
);
select is(
    (testing.target('lexer')).observation_no, 0::bigint,
    'kernel.begin_observation numbers every target by itself'
);
select is_empty(
    $$ select * from testing.moves() $$, 'kernel.begin_observation moves no campaign'
);

-- == repeated =====================================================================================

select testing.duplicate(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('one')) $$,
    'kernel.begin_observation repeated with its token is a duplicate and writes nothing'
);
select testing.clock_passes('5 days');
select row_eq(
    $$ select duplicate, number, is_scheduled
       from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                     p_token => testing.token('one')) $$,
    row(true, 1::bigint, true),
    'kernel.begin_observation repeated returns the same number, however late'
);
set local session authorization sensor_2;
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('one')) $$,
    'not_holder', 'kernel.begin_observation answers not_holder to another sensor''s token'
);
select row_eq(
    $$ select outcome, duplicate, number
       from kernel.begin_observation(p_class => 'fix', p_target => 'lexer',
                                     p_token => testing.token('one')) $$,
    row('ok'::text, false, 1::bigint),
    'kernel.begin_observation knows a token per target'
);

-- == the slot =====================================================================================

set local session authorization sensor_1;
select testing.clock_is('2026-09-01 03:09:59+00');
select row_eq(
    $$ select number, is_scheduled
       from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                     p_token => testing.token('two')) $$,
    row(2::bigint, false),
    'kernel.begin_observation is unscheduled while another has begun the slot within observe_within'
);
select is(
    (testing.target()).slot_begun_at, timestamptz '2026-09-01 03:00+00',
    'kernel.begin_observation out of schedule leaves the slot with who began it'
);
select testing.clock_is('2026-09-01 03:10+00');
select row_eq(
    $$ select number, is_scheduled
       from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                     p_token => testing.token('three')) $$,
    row(3::bigint, true),
    'kernel.begin_observation offers the slot again when it was not reported within observe_within'
);
select row_eq(
    $$ select (testing.observation()).slot_at, (testing.target()).slot_begun_at $$,
    row(timestamptz '2026-09-01 03:00+00', timestamptz '2026-09-01 03:10+00'),
    'kernel.begin_observation takes the same slot anew'
);
select testing.must('sensor_1', format(
    'select * from kernel.report_observation(p_class => %L, p_target => %L, p_number => 3, '
    'p_token => %L, p_is_green => true)', 'fix', 'parser', testing.token('three')
));
select testing.clock_is('2026-09-02 02:59:59+00');
select is(
    (select o.is_scheduled
     from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                   p_token => testing.token('four')) as o),
    false, 'kernel.begin_observation is unscheduled before the next slot'
);
select testing.clock_is('2026-09-02 03:00+00');
select row_eq(
    $$ select number, is_scheduled
       from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                     p_token => testing.token('five')) $$,
    row(5::bigint, true), 'kernel.begin_observation is scheduled as the next slot is due'
);
select is(
    (testing.observation()).slot_at, timestamptz '2026-09-02 03:00+00',
    'kernel.begin_observation names the slot that was due, observe_every after the last'
);

-- == what it sees =================================================================================

select testing.leased('tokenizer');
select testing.must('sensor_2', format(
    'select * from kernel.begin_observation(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'tokenizer', testing.token('six')
));
select row_eq(
    $$ select o.seen_campaign_id, o.seen_state, o.seen_generation, o.last_campaign_id
       from testing.observation('tokenizer') as o $$,
    row(testing.id('tokenizer'), 'leased'::text, 1::bigint, testing.id('tokenizer')),
    'kernel.begin_observation notes the open campaign, its state and generation'
);
select testing.cancel('tokenizer');
select testing.must('sensor_2', format(
    'select * from kernel.begin_observation(p_class => %L, p_target => %L, p_token => %L)',
    'fix', 'tokenizer', testing.token('seven')
));
select row_eq(
    $$ select o.seen_campaign_id, o.seen_state, o.seen_generation, o.last_campaign_id
       from testing.observation('tokenizer') as o $$,
    row(null::bigint, null::text, null::bigint, testing.id('tokenizer')),
    'kernel.begin_observation notes that none is open, and which was the last'
);

-- == who may ======================================================================================

set local session authorization sensor_elsewhere;
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('x')) $$,
    'forbidden', 'kernel.begin_observation answers forbidden to a sensor of another class'
);
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'no such',
                                              p_token => testing.token('x')) $$,
    'forbidden', 'kernel.begin_observation answers forbidden, not unknown, to a stranger'
);
reset session authorization;
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('x')) $$,
    'forbidden', 'kernel.begin_observation answers forbidden to a superuser'
);
set local session authorization sensor_2;
select testing.must('admin_1', $$
    select * from kernel.dismiss(p_class => 'fix', p_principal => 'sensor_2', p_duty => 'sensor')
$$);
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('x')) $$,
    'forbidden', 'kernel.begin_observation answers forbidden to a sensor who was dismissed'
);

-- == misuse =======================================================================================

set local session authorization sensor_1;
select testing.raises(
    format('select * from kernel.begin_observation(p_class => %L, p_target => %L, '
           'p_token => %L)', a.class, a.target, a.token),
    'KN101', format('argument %s is null', a.missing),
    format('kernel.begin_observation wants %s', a.missing)
)
from (values
    (null, 'parser', testing.token(), 'p_class'),
    ('fix', null, testing.token(), 'p_target'),
    ('fix', 'parser', null, 'p_token')
) as a (class, target, token, missing);
select testing.raises(
    $$ select * from kernel.begin_observation(p_class => 'Fix', p_target => 'parser',
                                              p_token => testing.token()) $$,
    'KN102', 'p_class is not the name of a class',
    'kernel.begin_observation takes no class of another form'
);
select testing.raises(
    format('select * from kernel.begin_observation(p_class => %L, p_target => %L, '
           'p_token => testing.token())', 'fix', t.target),
    'KN107', 'class fix has no such target',
    format('kernel.begin_observation knows no target "%s"', t.target)
)
from (values ('no such'), ('Parser'), ('tokenizer ')) as t (target);
select testing.raises(
    format('select * from kernel.begin_observation(p_class => %L, p_target => %L, '
           'p_token => testing.token())', 'fix', t.target),
    t.code, null, format('kernel.begin_observation takes no %s name', t.what)
)
from (values
    (' ', 'KN102', 'blank'), (repeat('x', 201), 'KN103', 'longer')
) as t (target, code, what);

select finish();
rollback;
