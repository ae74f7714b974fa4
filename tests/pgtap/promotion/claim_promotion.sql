-- kernel.claim_promotion hands an accepted attempt, whose promotion was left, to one verifier.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(43);

select testing.callable_by('kernel.claim_promotion', 'verifier');

-- == nothing to take up ===========================================================================

select testing.promoting();
select testing.verified();
select testing.ledger_digest(true) as before \gset
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'ship', p_token => gen_random_uuid()) $$,
    'returns no row while the verifier that accepted is still promoting'
);
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'fix', p_token => gen_random_uuid()) $$,
    'nor where nothing is promoted'
);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'and writes nothing then, not even a refusal');

-- == what was left ================================================================================

select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'ship') $$);
select testing.clock_passes('1 minute');
select testing.class('abroad', '{"promotes": true}');
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'abroad', p_token => gen_random_uuid()) $$,
    'returns nothing of another class'
);
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message, attempt_no, attempt_limit, lease_cap_at
       from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_2'), p_label => 'v2@host',
           p_lease_for => '5 minutes') $$,
    $$ values ('ok'::text, false, true, null::text, 'ship'::text, testing.id('parser', 'ship'),
               4::bigint, 'promoting'::text, '2026-09-01 03:21+00'::timestamptz, null::text, 1,
               '1 hour'::interval, '2026-09-02 03:16+00'::timestamptz) $$,
    'returns the lease: a new generation, for as long as asked'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_principal_oid, c.lease_token_sha256,
              c.lease_label, c.lease_granted_at, c.lease_expires_at, c.lease_xid,
              c.promotion_loss_count, c.phase_since
       from testing.campaign('parser', 'ship') as c $$,
    $$ values ('promoting'::text, 4::bigint, 'verifier_2'::name, 'verifier_2'::regrole::oid,
               ledger.token_digest(testing.token('verifier_2')), 'v2@host'::text,
               '2026-09-01 03:16+00'::timestamptz, '2026-09-01 03:21+00'::timestamptz,
               pg_current_xact_id(), 1, '2026-09-01 03:00+00'::timestamptz) $$,
    'writes who holds it; promote_within goes on from the acceptance'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.is_late, e.at, e.detail
       from testing.event('parser', 'ship') as e $$,
    $$ values ('claim_promotion'::text, 'accepted'::text, 'promoting'::text, 4::bigint,
               'verifier_2'::name, 'verifier_2'::name, false, '2026-09-01 03:16+00'::timestamptz,
               '{"attempt": 1, "label": "v2@host"}'::jsonb) $$,
    'writes the event'
);
select is(
    (select count(*) from ledger.verdict as v where v.class = 'ship'), 1::bigint,
    'the verdict stands: nothing is judged twice'
);
select is((select count(*) from ledger.bundle as b where b.class = 'ship'), 1::bigint,
          'and the bundle is the one that was judged');

-- == repeated =====================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization verifier_2;
select testing.duplicate(
    $$ select * from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_2'), p_lease_for => '1 hour') $$,
    'answers a repeat with ok and duplicate'
);
reset session authorization;
select testing.clock_passes('1 hour');
set local session authorization verifier_2;
select results_eq(
    $$ select duplicate, campaign_id, generation, lease_expires_at
       from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_2')) $$,
    $$ values (true, testing.id('parser', 'ship'), 4::bigint,
               '2026-09-01 03:21+00'::timestamptz) $$,
    'with the lease as it stands, also when it has run out'
);
reset session authorization;
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_2')) $$,
    'not_holder', 'refuses the token of another principal''s lease'
);
reset session authorization;
select testing.verifying('lexer', 'ship', 'verifier_1');
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'not_holder', 'refuses the token of the caller''s own lease of a verification'
);
reset session authorization;
select testing.judge('accepted', 'lexer', 'ship');
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_promotion(
           p_class => 'ship', p_token => testing.token('verifier_1')) $$,
    'not_holder', 'also when an acceptance has taken that lease on to promoting'
);
reset session authorization;

-- == which one ====================================================================================

select testing.class('order', '{"promotes": true}');
select testing.promoting('first', 'order');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'order') $$);
select testing.promoting('second', 'order');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'order') $$);
set local session authorization verifier_2;
select results_eq(
    $$ select campaign_id from kernel.claim_promotion(
           p_class => 'order', p_token => testing.token('first')) $$,
    $$ select testing.id('first', 'order') $$, 'takes what was submitted first'
);
select results_eq(
    $$ select campaign_id, lease_expires_at from kernel.claim_promotion(
           p_class => 'order', p_token => testing.token('second')) $$,
    $$ select testing.id('second', 'order'), testing.clock() + interval '15 minutes' $$,
    'then the next, for lease_default where no length is asked'
);
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'order', p_token => gen_random_uuid()) $$,
    'then nothing'
);
reset session authorization;

-- == where another may have been promoted =========================================================

select testing.class('place', '{"promotes": true}');
select testing.promoting('first', 'place');
select testing.promotion_is('started', 'first', 'place') as key \gset
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'place') $$);
select testing.promoting('second', 'place');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'place') $$);
set local session authorization verifier_2;
select results_eq(
    $$ select campaign_id from kernel.claim_promotion(
           p_class => 'place', p_token => testing.token('first at the place')) $$,
    $$ select testing.id('first', 'place') $$,
    'what nobody knows of is taken up, for its own campaign to reconcile'
);
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'place', p_token => gen_random_uuid()) $$,
    'another campaign is not promoted to the same place until then'
);
reset session authorization;
select testing.must('verifier_2', testing.resolving(
    'failed', jsonb_build_object('p_token', testing.token('first at the place')), :'key',
    'place'));
set local session authorization verifier_2;
select results_eq(
    $$ select campaign_id from kernel.claim_promotion(
           p_class => 'place', p_token => testing.token('second at the place')) $$,
    $$ select testing.id('second', 'place') $$, 'but then it is'
);
reset session authorization;

-- == independence =================================================================================

select testing.class('apart', '{"promotes": true, "separate_family": true}');
select testing.promoting('parser', 'apart');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'apart') $$);
set local session authorization verifier_2;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'apart', p_token => gen_random_uuid()) $$,
    'offers nothing to one of the worker''s family where the campaign wants another'
);
reset session authorization;
grant fencepost_verifier to worker_1;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'apart', p_principal => 'worker_1', p_duty => 'verifier') $$);
select testing.must('admin_1', $$ select * from kernel.register_principal(
    p_principal => 'worker_1', p_family => 'elsewhere') $$);
set local session authorization worker_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'apart', p_token => gen_random_uuid()) $$,
    'offers nothing to the worker'
);
reset session authorization;
grant verifier_1 to worker_1;
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'apart', p_token => gen_random_uuid()) $$,
    'offers nothing to one that the worker is a member of'
);
reset session authorization;
revoke verifier_1 from worker_1;
grant worker_1 to verifier_1;
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'apart', p_token => gen_random_uuid()) $$,
    'offers nothing to a member of the worker'
);
reset session authorization;
revoke worker_1 from verifier_1;
set local session authorization verifier_1;
select results_eq(
    $$ select outcome from kernel.claim_promotion(
           p_class => 'apart', p_token => testing.token('verifier_1')) $$,
    $$ values ('ok'::text) $$, 'offers it to whoever might have judged it, and to who did'
);
reset session authorization;

-- == states ======================================================================================

select testing.class('states', '{"promotes": true}');
select testing.open('a_ready', 'states');
select testing.claim('a_ready', 'states', p_token => testing.token('a'));
select testing.open('b_ready', 'states');
select testing.claim('b_ready', 'states', p_token => testing.token('b'));
select testing.submit('b_ready', 'states', p_token => testing.token('b'));
select testing.open('c_ready', 'states');
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'states', p_token => gen_random_uuid()) $$,
    'offers nothing that is ready, leased or attempted: promotion follows the verdict'
);
reset session authorization;
select testing.claim_verification('b_ready', 'states');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'a_ready', 'states'));
select testing.cancel('c_ready', 'states');
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'states', p_token => gen_random_uuid()) $$,
    'nor what is verifying, parked or cancelled'
);
reset session authorization;
select testing.judge('accepted', 'b_ready', 'states');
select testing.moved('b_ready', 'states');
select testing.must('verifier_1', testing.promotion('{}', 'b_ready', 'states'));
set local session authorization verifier_1;
select is_empty(
    $$ select * from kernel.claim_promotion(p_class => 'states', p_token => gen_random_uuid()) $$,
    'nor what is verified'
);
reset session authorization;

-- == forbidden ====================================================================================

select testing.class('left', '{"promotes": true}');
select testing.accepted('parser', 'left');
set local session authorization verifier_elsewhere;
select testing.refused(
    $$ select * from kernel.claim_promotion(p_class => 'left', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses who is not enrolled'
);
select testing.refused(
    $$ select * from kernel.claim_promotion(p_class => 'nowhere', p_token => gen_random_uuid()) $$,
    'forbidden', 'in the same way where there is no such class'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.dismiss(
    p_class => 'left', p_principal => 'verifier_1', p_duty => 'verifier') $$);
set local session authorization verifier_1;
select testing.refused(
    $$ select * from kernel.claim_promotion(p_class => 'left', p_token => gen_random_uuid()) $$,
    'forbidden', 'refuses who was dismissed'
);
reset session authorization;

-- == bounds and misuse ============================================================================

set local session authorization verifier_2;
select testing.ledger_digest(true) as before \gset
select testing.raises(
    $$ select * from kernel.claim_promotion(p_class => null, p_token => gen_random_uuid()) $$,
    'KN101', 'argument p_class is null', 'wants a class'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(p_class => 'left', p_token => null) $$,
    'KN101', 'argument p_token is null', 'wants a token'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(p_class => '1left', p_token => gen_random_uuid()) $$,
    'KN102', null, 'wants the name of a class'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(
           p_class => 'left', p_token => gen_random_uuid(), p_label => '') $$,
    'KN102', null, 'wants a label that says something, or none'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(
           p_class => 'left', p_token => gen_random_uuid(), p_label => repeat('x', 201)) $$,
    'KN103', null, 'wants a label of at most 200 bytes'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(
           p_class => 'left', p_token => gen_random_uuid(), p_lease_for => '999 milliseconds') $$,
    'KN104', null, 'wants a lease of lease_min or more'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(
           p_class => 'left', p_token => gen_random_uuid(), p_lease_for => '241 minutes') $$,
    'KN104', null, 'wants a lease of lease_max or less'
);
select testing.raises(
    $$ select * from kernel.claim_promotion(
           p_class => 'fix', p_token => gen_random_uuid(), p_lease_for => '241 minutes') $$,
    'KN104', null, 'also where nothing waits that could be leased'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select results_eq(
    $$ select outcome, lease_expires_at from kernel.claim_promotion(
           p_class => 'left', p_token => testing.token('verifier_2'), p_lease_for => '4 hours',
           p_label => repeat('x', 200)) $$,
    $$ select 'ok'::text, testing.clock() + interval '4 hours' $$,
    'takes a lease of lease_max, and a label of 200 bytes'
);
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.claim_promotion(p_class => 'left', p_token => gen_random_uuid()) $$,
    'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
