-- kernel.claim hands one ready campaign to one worker, under a new generation.
\ir ../_support/fixture.psql
select plan(51);

select testing.callable_by('kernel.claim', 'worker');

-- == what it hands out ============================================================================

set local session authorization worker_1;
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token()) $$,
    'kernel.claim returns no row, rather than a row of nulls, where nothing is ready'
);
select is(
    (select count(*) from testing.refusals()), 0::bigint,
    'kernel.claim records no refusal where nothing is ready'
);

select testing.open();
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, attempt_no, attempt_limit, lease_cap_at
       from kernel.claim(p_class => 'fix', p_token => testing.token(), p_label => 'host 7, pid 12',
                         p_lease_for => '20 minutes') $$,
    $$ values ('ok', false, true, null::text, 'fix', testing.id(), 1::bigint, 'leased',
               timestamptz '2026-09-01 03:20+00', null::text, 1, interval '1 hour',
               timestamptz '2026-09-02 03:00+00') $$,
    'kernel.claim returns the lease: generation 1, for as long as asked, and its cap'
);
select row_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_label, c.lease_granted_at,
              c.lease_expires_at, c.attempt_count, c.lease_token_sha256
       from testing.campaign() as c $$,
    row('leased'::text, 1::bigint, 'worker_1'::name, 'host 7, pid 12'::text,
        timestamptz '2026-09-01 03:00+00', timestamptz '2026-09-01 03:20+00', 1,
        sha256(uuid_send(testing.token()))),
    'kernel.claim writes the lease into the campaign, and of the token its SHA-256'
);
select row_eq(
    $$ select a.attempt_no, a.generation, a.principal, a.family, a.label, a.begun_at,
              a.submitted_at, a.ended_at
       from testing.attempt() as a $$,
    row(1, 1::bigint, 'worker_1'::name, 'north'::text, 'host 7, pid 12'::text,
        timestamptz '2026-09-01 03:00+00', null::timestamptz, null::timestamptz),
    'kernel.claim begins an attempt, with the family that an admin registered'
);
select row_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.at, e.detail
       from testing.event() as e $$,
    row(2::bigint, 'claim'::text, 'ready'::text, 'leased'::text, 1::bigint, 'worker_1'::name,
        'worker_1'::name, false, timestamptz '2026-09-01 03:00+00',
        '{"attempt": 1, "label": "host 7, pid 12"}'::jsonb),
    'kernel.claim logs its move, with who made it and who holds the lease'
);

-- == repeated =====================================================================================

select testing.duplicate(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token()) $$,
    'kernel.claim repeated with its token is a duplicate and writes nothing'
);
select row_eq(
    $$ select generation, lease_expires_at, attempt_no
       from kernel.claim(p_class => 'fix', p_token => testing.token(), p_lease_for => '1 hour') $$,
    row(1::bigint, timestamptz '2026-09-01 03:20+00', 1),
    'kernel.claim repeated returns the lease as it stands, whatever length it now names'
);
select testing.clock_passes('3 hours');
select testing.duplicate(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token()) $$,
    'kernel.claim repeated returns a lease that has run out, while nobody has taken it'
);
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('another')) $$,
    'kernel.claim leaves a campaign alone whose lease has run out: only the reaper takes it back'
);

set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('worker_1')) $$,
    'not_holder', 'kernel.claim answers not_holder to another principal''s token'
);
select is(
    (select r.campaign_id from testing.refusals() as r), null,
    'kernel.claim does not tell which campaign another''s token holds'
);

-- == which one ====================================================================================

select testing.cancel();
select testing.clock_is('2026-09-03 03:00+00');
select testing.open('younger');
select testing.clock_is('2026-09-03 02:00+00');
select testing.open('older');
select testing.clock_is('2026-09-03 01:00+00');
select testing.open('oldest, in another class', 'ship');
select testing.clock_is('2026-09-03 04:00+00');

select row_eq(
    $$ select campaign_id
       from kernel.claim(p_class => 'fix', p_token => testing.token('first')) $$,
    row(testing.id('older')), 'kernel.claim takes the campaign of the class that waits longest'
);
select row_eq(
    $$ select campaign_id, lease_expires_at
       from kernel.claim(p_class => 'fix', p_token => testing.token('second')) $$,
    row(testing.id('younger'), timestamptz '2026-09-03 04:15+00'),
    'kernel.claim takes another one for another token, for lease_default where no length is named'
);
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('third')) $$,
    'kernel.claim never gives a held campaign to somebody else'
);
select is(
    testing.state('oldest, in another class', 'ship'), 'ready',
    'kernel.claim takes nothing from another class'
);

-- In the future: backoff.
select testing.must('worker_2', format(
    'select * from kernel.fail(p_class => %L, p_campaign_id => %L, p_generation => 1, '
    'p_token => %L, p_reason => %L)',
    'fix', testing.id('older'), testing.token('first'), 'came to nothing'
));
select testing.clock_passes('59 seconds');
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('too early')) $$,
    'kernel.claim waits for next_attempt_at'
);
select testing.clock_passes('1 second');
select row_eq(
    $$ select campaign_id, generation, attempt_no
       from kernel.claim(p_class => 'fix', p_token => testing.token('in time')) $$,
    row(testing.id('older'), 2::bigint, 2),
    'kernel.claim raises the generation and the attempt number with every lease'
);
select row_eq(
    $$ select a.attempt_no, a.generation, a.principal, a.label
       from testing.attempt('older') as a $$,
    row(2, 2::bigint, 'worker_2'::name, null::text),
    'kernel.claim begins a new attempt with every lease'
);

-- Whoever judged does not work.
set local session authorization verifier_2;
select testing.verifying('judged', 'fix', 'verifier_2');
select testing.judge('unverifiable', 'judged', 'fix', 'verifier_2');
reset session authorization;
grant fencepost_worker to verifier_2;
select testing.must('admin_1', $$
    select * from kernel.enrol(p_class => 'fix', p_principal => 'verifier_2', p_duty => 'worker')
$$);
select testing.clock_passes('1 minute');
select testing.claim_verification('judged');
select testing.judge('rejected', 'judged');
select testing.clock_passes('1 minute');
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('verifier_2')) $$,
    'kernel.claim offers no campaign to a principal that took it for verification'
);
select testing.open('not judged');
select row_eq(
    $$ select campaign_id
       from kernel.claim(p_class => 'fix', p_token => testing.token('verifier_2')) $$,
    row(testing.id('not judged')),
    'kernel.claim offers that principal the campaigns which it did not judge'
);

-- A token of another kind of lease.
select testing.claim('judged', p_worker => 'worker_1', p_token => testing.token('again'));
select testing.submit('judged', p_fingerprint => 'patch-2', p_token => testing.token('again'));
select testing.must('verifier_2', format(
    'select * from kernel.claim_verification(p_class => %L, p_token => %L)',
    'fix', testing.token('of a verification')
));
select is(testing.state('judged'), 'verifying', 'kernel.claim''s next test has its state');
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix',
                                  p_token => testing.token('of a verification')) $$,
    'not_holder', 'kernel.claim answers not_holder to the token of a lease of another kind'
);

-- Terminal states.
reset session authorization;
select testing.class('still');
select testing.cancelled('cancelled', 'still');
select testing.lapsed('lapsed', 'still');
select testing.confirmed('confirmed', 'still');
select testing.parked('parked', 'still');
select testing.verified('verified', 'still');
select testing.clock_passes('100 days');
set local session authorization worker_2;
select is_empty(
    $$ select * from kernel.claim(p_class => 'still', p_token => testing.token('still')) $$,
    'kernel.claim never offers a campaign that is cancelled, lapsed, confirmed, parked or verified'
);

-- == who may ======================================================================================

set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden to a worker of another class'
);
select testing.refused(
    $$ select * from kernel.claim(p_class => 'no-such-class', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden, not unknown, where there is no such class'
);
select is(
    (select array_agg(distinct r.message) from testing.refusals() as r),
    array['this principal may not do this here'],
    'kernel.claim forbids in the same words whatever exists'
);

set local session authorization worker_1;
select testing.must('admin_1', $$
    select * from kernel.dismiss(p_class => 'fix', p_principal => 'worker_1', p_duty => 'worker')
$$);
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden to a worker who was dismissed'
);

reset session authorization;
drop role worker_1;
create role worker_1 login;
grant fencepost_worker to worker_1;
set local session authorization worker_1;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'ship', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden to a role made anew under an enrolled name'
);

-- EXECUTE comes with indirect membership too; enrolment asks for the direct one.
reset session authorization;
create role team;
grant fencepost_worker to team;
revoke fencepost_worker from worker_2;
grant team to worker_2;
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden to a worker who is no direct member of its group'
);
reset session authorization;
revoke team from worker_2;
grant fencepost_worker to worker_2;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    'forbidden', 'kernel.claim answers forbidden to a superuser'
);

set local session authorization verifier_1;
select throws_ok(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    '42501', 'permission denied for function claim',
    'kernel.claim is refused by the server to a principal of another group'
);

-- == misuse =======================================================================================

set local session authorization worker_2;
select testing.raises(
    $$ select * from kernel.claim(p_class => null, p_token => testing.token()) $$,
    'KN101', 'argument p_class is null', 'kernel.claim wants a class'
);
select testing.raises(
    $$ select * from kernel.claim(p_class => 'fix', p_token => null) $$,
    'KN101', 'argument p_token is null', 'kernel.claim wants a token'
);
select testing.raises(
    format('select * from kernel.claim(p_class => %L, p_token => testing.token())', c.class),
    'KN102', 'p_class is not the name of a class',
    format('kernel.claim takes no class %s', quote_ident(left(rtrim(c.class, E'\n'), 20)))
)
from (values (''), ('Fix'), ('1fix'), ('fix it'), (E'fix\n'), ('fix;--'), (repeat('f', 64)))
    as c (class);
select testing.raises(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token(),
                                  p_label => repeat('é', 101)) $$,
    'KN103', 'argument p_label is too long', 'kernel.claim takes a label of up to 200 bytes'
);
select testing.raises(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token(), p_label => ' ') $$,
    'KN102', 'argument p_label is empty', 'kernel.claim takes no blank label'
);
select testing.raises(
    format('select * from kernel.claim(p_class => %L, p_token => testing.token(), '
           'p_lease_for => %L)', 'fix', l.length),
    'KN104', null, format('kernel.claim grants no lease of "%s"', l.length)
)
from (values
    ('0'), ('-15 minutes'), ('999 milliseconds'), ('4 hours 1 second'),
    -- Compared as intervals it is a minute; it would last for more than five days.
    ('1 year -359 days -23:59')
) as l (length);
select case
    when current_setting('server_version_num')::integer < 170000
    then pass('kernel.claim is never asked for infinity before PostgreSQL 17')
    else testing.raises(
        $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token(),
                                      p_lease_for => 'infinity') $$,
        'KN104', null, 'kernel.claim grants no lease for ever'
    )
end;
select testing.raises(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('held'),
                                  p_lease_for => '5 hours') $$,
    'KN104', 'a lease of 05:00:00 is out of range',
    'kernel.claim minds the bounds also where nothing is ready'
);

reset session authorization;
select finish();
rollback;
