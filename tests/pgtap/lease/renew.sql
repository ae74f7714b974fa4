-- kernel.renew moves the end of a lease to a later time, for its holder, up to the cap.
\ir ../_support/fixture.psql
select plan(35);

select testing.callable_by('kernel.renew', 'worker', 'verifier');

-- == what it does =================================================================================

set local session authorization worker_1;
select testing.leased();
select testing.clock_passes('5 minutes');
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, attempt_no, attempt_limit, lease_cap_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token(), p_lease_for => '20 minutes') $$,
    $$ values ('ok', false, false, null::text, 'fix', testing.id(), 1::bigint, 'leased',
               timestamptz '2026-09-01 03:25+00', null::text, 1, interval '1 hour',
               timestamptz '2026-09-02 03:00+00') $$,
    'kernel.renew lets the lease end p_lease_for from now'
);
select is(
    (testing.campaign()).lease_expires_at, timestamptz '2026-09-01 03:25+00',
    'kernel.renew writes the expiry'
);
select is(
    (testing.campaign()).lease_granted_at, timestamptz '2026-09-01 03:00+00',
    'kernel.renew leaves the time at which the lease was granted'
);
select results_eq(
    $$ select * from testing.moves() $$,
    array['1 open: none to ready', '2 claim: ready to leased'],
    'kernel.renew writes no event'
);
select row_eq(
    $$ select outcome, note, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token(), p_lease_for => '1 second') $$,
    row('ok'::text, null::text, timestamptz '2026-09-01 03:25+00'),
    'kernel.renew never makes a lease shorter'
);
select testing.clock_passes('19 minutes');
select is(
    (select r.lease_expires_at
     from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                       p_token => testing.token()) as r),
    timestamptz '2026-09-01 03:39+00',
    'kernel.renew takes lease_default where no length is named'
);
select testing.clock_is('2026-09-01 03:39+00');
select row_eq(
    $$ select outcome, generation, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    row('ok'::text, 1::bigint, timestamptz '2026-09-01 03:54+00'),
    'kernel.renew renews a lease that has run out, under the same generation, while nobody took it'
);

-- == the cap ======================================================================================

select testing.clock_is('2026-09-02 02:00+00');
select row_eq(
    $$ select note, lease_expires_at, lease_cap_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token(), p_lease_for => '59 minutes') $$,
    row(null::text, timestamptz '2026-09-02 02:59+00', timestamptz '2026-09-02 03:00+00'),
    'kernel.renew notes nothing before the cap'
);
select row_eq(
    $$ select note, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token(), p_lease_for => '4 hours') $$,
    row('lease_cap'::text, timestamptz '2026-09-02 03:00+00'),
    'kernel.renew leads no further than lease_cap after the claim, and notes it'
);
select row_eq(
    $$ select outcome, note, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token(), p_lease_for => '4 hours') $$,
    row('ok'::text, 'lease_cap'::text, timestamptz '2026-09-02 03:00+00'),
    'kernel.renew answers ok at the cap, and moves nothing'
);
select testing.clock_is('2026-09-02 04:00+00');
select row_eq(
    $$ select note, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    row('lease_cap'::text, timestamptz '2026-09-02 03:00+00'),
    'kernel.renew does not revive a lease past its cap'
);
select is(
    (select count(*) from testing.refusals()), 0::bigint,
    'kernel.renew has recorded no refusal up to here'
);
select testing.must('admin_1', $$
    select * from kernel.define_class(p_class => 'fix', p_policy => '{"lease_cap": "26 hours"}')
$$);
select is(
    (select r.lease_expires_at
     from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                       p_token => testing.token(), p_lease_for => '2 hours') as r),
    timestamptz '2026-09-02 05:00+00',
    'kernel.renew reads the cap as it is now'
);

-- == refused ======================================================================================

select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token('another')) $$,
    'not_holder', 'kernel.renew answers not_holder to another token of the holder'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token('worker_1')) $$,
    'not_holder', 'kernel.renew answers not_holder to another principal with the holder''s token'
);
set local session authorization worker_elsewhere;
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token('worker_1')) $$,
    'forbidden', 'kernel.renew answers forbidden to a worker of another class'
);
set local session authorization verifier_elsewhere;
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => -1,
                                  p_generation => 1, p_token => testing.token('worker_1')) $$,
    'forbidden', 'kernel.renew answers forbidden also where there is no such campaign'
);

set local session authorization worker_1;
select testing.clock_is('2026-09-02 05:00+00');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 1, p_token => testing.token()) $$,
    'stale', 'kernel.renew answers stale once the lease was taken back'
);
select row_eq(
    $$ select outcome, generation, state, lease_expires_at
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 1,
                         p_token => testing.token()) $$,
    row('stale'::text, 2::bigint, 'ready'::text, null::timestamptz),
    'kernel.renew names the present generation and state to who lost it'
);
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 2, p_token => testing.token()) $$,
    'illegal', 'kernel.renew answers illegal under a generation that nobody holds'
);
select testing.claim(p_token => testing.token('again'));
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 3, p_token => testing.token()) $$,
    'not_holder', 'kernel.renew answers not_holder to the token of the lease before'
);
select testing.submit(p_token => testing.token('again'));
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 3, p_token => testing.token('again')) $$,
    'stale', 'kernel.renew answers stale once the attempt was submitted'
);

-- == leases of verifiers ==========================================================================

set local session authorization verifier_1;
select testing.claim_verification();
select row_eq(
    $$ select outcome, state, lease_expires_at, attempt_no
       from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 4,
                         p_token => testing.token('verifier_1'), p_lease_for => '30 minutes') $$,
    row('ok'::text, 'verifying'::text, timestamptz '2026-09-02 05:30+00', 2),
    'kernel.renew renews the lease of a verification'
);
select testing.promoting();
select row_eq(
    $$ select outcome, state, lease_expires_at
       from kernel.renew(p_class => 'ship', p_campaign_id => testing.id('parser', 'ship'),
                         p_generation => testing.generation('parser', 'ship'),
                         p_token => testing.token('verifier_1'), p_lease_for => '30 minutes') $$,
    row('ok'::text, 'promoting'::text, timestamptz '2026-09-02 05:30+00'),
    'kernel.renew renews the lease of a promotion'
);
set local session authorization worker_1;
select testing.refused(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => testing.id(),
                                  p_generation => 4, p_token => testing.token('verifier_1')) $$,
    'not_holder', 'kernel.renew answers not_holder to the worker while a verifier holds it'
);

-- == misuse =======================================================================================

select testing.raises(
    format('select * from kernel.renew(p_class => %L, p_campaign_id => %L, p_generation => %L, '
           'p_token => %L)', a.class, a.id, a.generation, a.token),
    'KN101', format('argument %s is null', a.missing), format('kernel.renew wants %s', a.missing)
)
from (values
    (null, 1, 1, testing.token(), 'p_class'),
    ('fix', null, 1, testing.token(), 'p_campaign_id'),
    ('fix', 1, null, testing.token(), 'p_generation'),
    ('fix', 1, 1, null, 'p_token')
) as a (class, id, generation, token, missing);
select testing.raises(
    $$ select * from kernel.renew(p_class => 'fix', p_campaign_id => -1, p_generation => 1,
                                  p_token => testing.token()) $$,
    'KN108', null, 'kernel.renew knows its campaigns'
);
select testing.raises(
    format('select * from kernel.renew(p_class => %L, p_campaign_id => testing.id(), '
           'p_generation => 4, p_token => testing.token(), p_lease_for => %L)', 'fix', l.length),
    'KN104', null, format('kernel.renew renews by no "%s"', l.length)
)
from (values ('0'), ('-1 hour'), ('4 hours 1 second'), ('1 year -359 days -23:59')) as l (length);

select finish();
rollback;
