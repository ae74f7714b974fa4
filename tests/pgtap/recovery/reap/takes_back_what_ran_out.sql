-- kernel.reap takes back the leases that have run out, of every phase, and no others.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(38);

select testing.callable_by('kernel.reap', 'reaper');

-- == work =========================================================================================

select testing.open();
select testing.clock_passes('1 minute');
select testing.claim();
select testing.clock_passes('14 minutes 59.999999 seconds');

select testing.ledger_digest(true, 'reaper_pass') as before \gset
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'fix') $$, 'returns no row while the lease runs'
);
reset session authorization;
select is(
    testing.ledger_digest(true, 'reaper_pass'), :'before',
    'and writes nothing then, save that it passed'
);
select results_eq(
    $$ select r.class, r.principal, r.passed_at, r.reaped_count from ledger.reaper_pass as r $$,
    $$ values ('fix'::text, 'reaper_1'::name, '2026-09-01 03:15:59.999999+00'::timestamptz,
               0::bigint) $$,
    'who, when, and that it took nothing'
);

select testing.clock_is('2026-09-01 03:16+00');
set local session authorization reaper_1;
select results_eq(
    $$ select * from kernel.reap(p_class => 'fix') $$,
    $$ values ('ok'::text, false, true, 'lose'::text, 'fix'::text, testing.id(), 2::bigint,
               'ready'::text, null::timestamptz, null::text) $$,
    'takes it at the very moment it runs out, and returns one row for the campaign'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.lease_expires_at,
              c.lease_label, c.loss_count, c.failure_count, c.attempt_count, c.next_attempt_at,
              c.parked_for
       from testing.campaign() as c $$,
    $$ values ('ready'::text, 2::bigint, null::name, null::bytea, null::timestamptz, null::text, 1,
               0,
               1, '2026-09-01 03:00+00'::timestamptz, null::text) $$,
    'raises the generation, counts a loss and no failure, and leaves the campaign its age'
);
select results_eq(
    $$ select a.ending, a.ended_at, a.reason from testing.attempt() as a $$,
    $$ values ('lost'::text, '2026-09-01 03:16+00'::timestamptz, 'the lease ran out'::text) $$,
    'ends the attempt as lost'
);
select results_eq(
    $$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation, e.by_principal,
              e.holder, e.is_late, e.next_attempt_at, e.at, e.detail
       from testing.event() as e $$,
    $$ values (3::bigint, 'lose'::text, 'leased'::text, 'ready'::text, 2::bigint, 'reaper_1'::name,
               'worker_1'::name, false, '2026-09-01 03:00+00'::timestamptz,
               '2026-09-01 03:16+00'::timestamptz,
               '{"attempt": 1, "reason": "the lease ran out"}'::jsonb) $$,
    'writes the event: made by the reaper, from whom'
);
select testing.ledger_digest(true) as before \gset
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'fix') $$, 'returns nothing the second time'
);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'and writes nothing');
select results_eq(
    $$ select r.class, r.principal, r.passed_at, r.reaped_count from ledger.reaper_pass as r $$,
    $$ values ('fix'::text, 'reaper_1'::name, '2026-09-01 03:16+00'::timestamptz, 1::bigint) $$,
    'and keeps how many it has taken in all'
);

-- A reclaimed campaign keeps its place before one that was opened after it.
select testing.open('younger');
select results_eq(
    $$ select testing.act('worker_2', $q$ select * from kernel.claim(
           p_class => 'fix', p_token => testing.token('worker_2')) $q$) ->> 'campaign_id' $$,
    $$ select testing.id()::text $$,
    'leaves it where it stood in the order: an older campaign is claimed before a younger one'
);

-- == verification =================================================================================

select testing.class('v');
select testing.verifying('parser', 'v');
select testing.clock_passes('15 minutes');
set local session authorization reaper_1;
select results_eq(
    $$ select outcome, moved, note, campaign_id, generation, state, lease_expires_at
       from kernel.reap(p_class => 'v') $$,
    $$ values ('ok'::text, true, 'lose_verification'::text, testing.id('parser', 'v'), 3::bigint,
               'attempted'::text, null::timestamptz) $$,
    'takes a verification back to attempted'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.lease_principal, c.verification_loss_count, c.loss_count, c.failure_count,
              c.promotion_loss_count, c.next_attempt_at, c.phase_since
       from testing.campaign('parser', 'v') as c $$,
    $$ values ('attempted'::text, null::name, 1, 0, 0, 0, '2026-09-01 03:16+00'::timestamptz,
               '2026-09-01 03:16+00'::timestamptz) $$,
    'counts it by itself, and leaves age and verify_within as they were'
);
select results_eq(
    $$ select a.ending, a.submitted_at from testing.attempt('parser', 'v') as a $$,
    $$ values (null::text, '2026-09-01 03:16+00'::timestamptz) $$,
    'leaves the submitted attempt to the next verifier'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.detail
       from testing.event('parser', 'v') as e $$,
    $$ values ('lose_verification'::text, 'verifying'::text, 'attempted'::text, 3::bigint,
               'reaper_1'::name, 'verifier_1'::name,
               '{"attempt": 1, "reason": "the lease ran out"}'::jsonb) $$,
    'writes the event'
);

-- == promotion ====================================================================================

select testing.class('p', '{"promotes": true}');
select testing.promoting('parser', 'p');
select testing.clock_passes('15 minutes');
set local session authorization reaper_1;
select results_eq(
    $$ select outcome, moved, note, campaign_id, generation, state, lease_expires_at
       from kernel.reap(p_class => 'p') $$,
    $$ values ('ok'::text, true, 'lose_promotion'::text, testing.id('parser', 'p'), 3::bigint,
               'accepted'::text, null::timestamptz) $$,
    'takes a promotion back to accepted'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.lease_principal, c.promotion_loss_count, c.verification_loss_count,
              c.loss_count, c.failure_count, c.phase_since
       from testing.campaign('parser', 'p') as c $$,
    $$ values ('accepted'::text, null::name, 1, 0, 0, 0, '2026-09-01 03:31+00'::timestamptz) $$,
    'counts it by itself, and leaves promote_within as it was'
);
select results_eq(
    $$ select a.ending, (testing.verdict('parser', 'p')).verdict
       from testing.attempt('parser', 'p') as a $$,
    $$ values (null::text, 'accepted'::text) $$,
    'leaves attempt and verdict to whoever takes it up'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder
       from testing.event('parser', 'p') as e $$,
    $$ values ('lose_promotion'::text, 'promoting'::text, 'accepted'::text, 3::bigint,
               'reaper_1'::name, 'verifier_1'::name) $$,
    'writes the event'
);

-- == a renewal ====================================================================================

select testing.class('renewed');
select testing.leased('parser', 'renewed');
select testing.clock_passes('10 minutes');
select testing.must('worker_1', testing.holding('renew', '{}', 'parser', 'renewed'));
select testing.clock_passes('10 minutes');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'renewed') $$, 'passes over a lease that was renewed'
);
reset session authorization;
select testing.clock_passes('1 day');
select testing.act('worker_1', testing.holding(
    'renew', '{"p_lease_for": "4 hours"}', 'parser', 'renewed')) ->> 'note' as note \gset
set local session authorization reaper_1;
select results_eq(
    $$ select note from kernel.reap(p_class => 'renewed') $$, $$ values ('lose'::text) $$,
    'but takes one that no renewal could lead beyond lease_cap'
);
reset session authorization;
select testing.claim('parser', 'renewed');
select testing.clock_passes('1 hour');
select testing.must('worker_1', testing.holding('renew', '{}', 'parser', 'renewed'));
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'renewed') $$,
    'passes over a lease that had run out and was renewed before anybody took it'
);
reset session authorization;

-- == nothing else =================================================================================

-- In every other state, and a hundred days later than any of it: verify_within and promote_within
-- are longer here.
select testing.class('others', '{"promotes": true, "verify_within": "300 days",
                                 "promote_within": "300 days"}');
select testing.accepted('accepted', 'others');
select testing.verified('verified', 'others');
select testing.attempted('attempted', 'others');
select testing.parked('parked', 'others');
select testing.cancelled('cancelled', 'others');
select testing.class('elsewhere_confirmed');
select testing.confirmed('confirmed', 'elsewhere_confirmed');
select testing.open('ready', 'others');
select testing.clock_passes('100 days');
select testing.ledger_digest(true, 'reaper_pass') as before \gset
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'others') $$,
    'takes nothing that is ready, attempted, accepted, verified, parked or closed'
);
select is_empty(
    $$ select * from kernel.reap(p_class => 'elsewhere_confirmed') $$, 'nor what was confirmed'
);
reset session authorization;
select is(
    testing.ledger_digest(true, 'reaper_pass'), :'before', 'and writes nothing there either'
);

-- == one class at a time, and so many at once =====================================================

select testing.class('many');
select testing.class('apart');
select testing.leased('parser', 'apart');
select testing.leased(t.target, 'many', p_token => testing.token(t.target))
from unnest(array['one', 'two', 'three', 'four', 'five']) as t (target);
select testing.clock_passes('5 minutes');
select testing.leased('alive', 'many', p_token => testing.token('alive'));
select testing.clock_passes('10 minutes');
set local session authorization reaper_1;
select is(
    (select count(*) from kernel.reap(p_class => 'many', p_limit => 2)), 2::bigint,
    'takes no more than p_limit at once'
);
reset session authorization;
select is(
    (select count(*) from ledger.campaign as c where c.class = 'many' and c.state = 'ready'),
    2::bigint, 'and leaves the others as they are'
);
set local session authorization reaper_1;
select results_eq(
    $$ select note, state, count(*) from kernel.reap(p_class => 'many') group by note, state $$,
    $$ values ('lose'::text, 'ready'::text, 3::bigint) $$,
    'takes the others when it is called again'
);
reset session authorization;
select is(
    (select count(*) from ledger.campaign as c where c.class = 'many' and c.state = 'ready'),
    5::bigint, 'so that all are ready in the end'
);
select is(testing.state('alive', 'many'), 'leased', 'save for the one whose lease runs');
select is(testing.state('parser', 'apart'), 'leased', 'and what is of another class');
select is(
    (select count(*)
     from ledger.campaign_event as e
     where e.class = 'many' and e.transition = 'lose'),
    5::bigint, 'each was lost once'
);

-- Expiry and loss of all three phases in one pass.
select testing.class('mixed', '{"promotes": true}');
select testing.promoting('third', 'mixed');
select testing.attempted('second', 'mixed');
select testing.claim_verification('second', 'mixed', 'verifier_2');
select testing.leased('first', 'mixed');
select testing.clock_passes('1 hour');
set local session authorization reaper_1;
select results_eq(
    $$ select campaign_id, note, state from kernel.reap(p_class => 'mixed') order by note $$,
    $$ values (testing.id('first', 'mixed'), 'lose'::text, 'ready'::text),
              (testing.id('third', 'mixed'), 'lose_promotion', 'accepted'),
              (testing.id('second', 'mixed'), 'lose_verification', 'attempted') $$,
    'takes all phases in one call'
);

-- == nothing else need be alive ===================================================================

reset session authorization;
select testing.class('gone');
select testing.leased('parser', 'gone');
select testing.clock_passes('15 minutes');
drop role worker_1;
set local session authorization reaper_1;
select results_eq(
    $$ select note, state from kernel.reap(p_class => 'gone') $$,
    $$ values ('lose'::text, 'ready'::text) $$,
    'takes the lease of a principal that is no longer there'
);
reset session authorization;
select is((testing.event('parser', 'gone')).holder, 'worker_1', 'whose name the event keeps');

select testing.must('worker_2', $$ select * from kernel.claim(
    p_class => 'gone', p_token => testing.token('worker_2')) $$);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'gone', p_policy => '{"lease_max": "1 minute", "lease_default": "1 minute"}') $$);
select testing.clock_passes('14 minutes');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'gone') $$,
    'goes by the lease that was granted, not by what the class would grant today'
);
reset session authorization;
select testing.clock_passes('1 minute');
set local session authorization reaper_1;
select results_eq(
    $$ select note from kernel.reap(p_class => 'gone') $$, $$ values ('lose'::text) $$,
    'and takes that when it runs out'
);
reset session authorization;

select finish();
rollback;
