-- kernel.dismiss takes an enrolment away, and at once every lease that is held by it.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(47);

create function testing.dismissing(p_principal text, p_duty text, p_class text default 'fix')
    returns text
    language sql
as $fn$
    select testing.call('dismiss', jsonb_build_object(
        'p_class', p_class, 'p_principal', p_principal, 'p_duty', p_duty))
$fn$;

select testing.callable_by('kernel.dismiss', 'admin');

-- == a worker, in the middle of its lease =========================================================

select testing.open();
select testing.clock_passes('1 minute');
select testing.claim();
select testing.clock_passes('1 minute');
select to_jsonb(e) as enrolment from ledger.enrolment as e
where e.class = 'fix' and e.principal = 'worker_1' \gset

set local session authorization admin_1;
select results_eq(
    testing.dismissing('worker_1', 'worker'),
    $$ values ('ok'::text, false, true, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok, and moved where it took a lease away'
);
reset session authorization;
select is_empty(
    $$ select from ledger.enrolment as e
       where e.class = 'fix' and e.principal = 'worker_1' and e.duty = 'worker' $$,
    'takes the enrolment away'
);
select results_eq(
    $$ select c.class, c.action, c.subject, c.by_principal, c.at, c.before, c.after
       from testing.config('dismiss') as c $$,
    format($$ values ('fix'::text, 'dismiss'::text, 'worker_1'::text, 'admin_1'::name,
                      testing.clock(), %L::jsonb, null::jsonb) $$, :'enrolment'),
    'records who did it, and what the enrolment was'
);
select results_eq(
    $$ select c.state, c.generation, c.lease_principal, c.lease_token_sha256, c.loss_count,
              c.failure_count, c.next_attempt_at, c.parked_for
       from testing.campaign() as c $$,
    $$ values ('ready'::text, 2::bigint, null::name, null::bytea, 0, 0,
               '2026-09-01 03:00+00'::timestamptz, null::text) $$,
    'takes the lease at once, and counts no loss'
);
select results_eq(
    $$ select a.ending, a.ended_at, a.reason from testing.attempt() as a $$,
    $$ values ('lost'::text, '2026-09-01 03:02+00'::timestamptz,
               'its holder was dismissed'::text) $$,
    'ends the attempt as lost'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.is_late, e.detail
       from testing.event() as e $$,
    $$ values ('lose'::text, 'leased'::text, 'ready'::text, 2::bigint, 'admin_1'::name,
               'worker_1'::name, false,
               '{"attempt": 1, "reason": "its holder was dismissed"}'::jsonb) $$,
    'writes the event: made by the admin'
);
set local session authorization worker_1;
select testing.refused(
    testing.holding('submit', '{"p_generation": 1, "p_fingerprint": "f", "p_approach": null,
        "p_result": {}}'),
    'forbidden', 'refuses whatever it does next: a submission'
);
select testing.refused(testing.holding('renew', '{"p_generation": 1}'), 'forbidden', 'a renewal');
select testing.refused(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('worker_1')) $$,
    'forbidden', 'the claim, repeated or not'
);
select is(kernel.next_due('fix'), null, 'and tells it nothing of what is due');
reset session authorization;
set local session authorization worker_2;
select results_eq(
    $$ select outcome, campaign_id, attempt_no from kernel.claim(
           p_class => 'fix', p_token => testing.token('worker_2')) $$,
    $$ values ('ok'::text, testing.id(), 2) $$, 'another worker takes the campaign at once'
);
reset session authorization;

-- == repeated =====================================================================================

set local session authorization admin_1;
select testing.duplicate(
    testing.dismissing('worker_1', 'worker'), 'answers a repeat with ok and duplicate'
);
select testing.duplicate(
    testing.dismissing('worker_elsewhere', 'worker'),
    'answers likewise for who was not enrolled'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'fix', p_principal => 'worker_1', p_duty => 'worker') $$);
select testing.leased('lexer');
select is(testing.state('lexer'), 'leased', 'who is enrolled again may work again');
set local session authorization admin_1;
select results_eq(
    format('select outcome, duplicate, moved from (%s) as d',
           testing.dismissing('worker_1', 'worker')),
    $$ values ('ok'::text, false, true) $$, 'and may be dismissed again'
);
reset session authorization;

-- == a verifier ===================================================================================

select testing.class('v', '{"promotes": true, "verification_loss_budget": 1,
                            "promotion_loss_budget": 1, "loss_budget": 1}');
select testing.promoting('promoting', 'v');
select testing.attempted('verifying', 'v');
select testing.must('verifier_1', $$ select * from kernel.claim_verification(
    p_class => 'v', p_token => testing.token('second')) $$);
select testing.attempted('others', 'v');
select testing.claim_verification('others', 'v', 'verifier_2');
select testing.leased('working', 'v');
set local session authorization admin_1;
select results_eq(
    format('select outcome, moved from (%s) as d',
           testing.dismissing('verifier_1', 'verifier', 'v')),
    $$ values ('ok'::text, true) $$, 'dismisses a verifier'
);
reset session authorization;
select results_eq(
    $$ select c.target, c.state, c.generation, c.lease_principal, c.verification_loss_count,
              c.promotion_loss_count, c.loss_count
       from ledger.campaign as c where c.class = 'v' order by c.campaign_id $$,
    $$ values ('promoting'::text, 'accepted'::text, 3::bigint, null::name, 0, 0, 0),
              ('verifying', 'attempted', 3, null, 0, 0, 0),
              ('others', 'verifying', 2, 'verifier_2', 0, 0, 0),
              ('working', 'leased', 1, 'worker_1', 0, 0, 0) $$,
    'takes its verification and its promotion, counts neither, and leaves those of others'
);
select results_eq(
    $$ select e.transition, e.to_state, e.by_principal, e.holder
       from testing.event('promoting', 'v') as e
       union all
       select e.transition, e.to_state, e.by_principal, e.holder
       from testing.event('verifying', 'v') as e $$,
    $$ values ('lose_promotion'::text, 'accepted'::text, 'admin_1'::name, 'verifier_1'::name),
              ('lose_verification', 'attempted', 'admin_1', 'verifier_1') $$,
    'writes both events'
);
select is(
    (testing.attempt('promoting', 'v')).ending, null, 'leaves the accepted attempt to be promoted'
);
set local session authorization verifier_1;
select testing.refused(
    testing.promotion('{"p_generation": 2}', 'promoting', 'v'), 'forbidden',
    'refuses its promotion'
);
select testing.refused(
    testing.judging(jsonb_build_object('p_generation', 2, 'p_token', testing.token('second')),
                    'verifying', 'v'),
    'forbidden', 'and its verdict'
);
reset session authorization;

-- == one duty, one class ==========================================================================

grant fencepost_verifier to worker_1;
select testing.class('both');
select testing.must('admin_1', $$ select * from kernel.enrol(
    p_class => 'both', p_principal => 'worker_1', p_duty => 'verifier') $$);
select testing.leased('judged', 'both', 'worker_2');
select testing.submit('judged', 'both', 'worker_2');
select testing.must('worker_1', $$ select * from kernel.claim_verification(
    p_class => 'both', p_token => testing.token('judging')) $$);
select testing.leased('worked', 'both');
select testing.leased('abroad', 'ship');
select testing.must('admin_1', testing.dismissing('worker_1', 'worker', 'both'));
select is(testing.state('worked', 'both'), 'ready', 'takes the leases of that duty');
select is(
    testing.state('judged', 'both'), 'verifying',
    'and not what the same principal holds for another'
);
select is(testing.state('abroad', 'ship'), 'leased', 'nor what it holds in another class');
set local session authorization worker_1;
select results_eq(
    $$ select outcome, state from (
           select * from kernel.renew(
               p_class => 'both', p_campaign_id => testing.id('judged', 'both'),
               p_generation => testing.generation('judged', 'both'),
               p_token => testing.token('judging'))) as r $$,
    $$ values ('ok'::text, 'verifying'::text) $$, 'which go on'
);
reset session authorization;
select testing.must('admin_1', testing.dismissing('worker_1', 'verifier', 'both'));
select is(testing.state('judged', 'both'), 'attempted', 'until that duty is taken, too');

-- == a sensor holds no lease ======================================================================

select testing.must('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'both', p_target => 'judged', p_token => testing.token('looking')) $$) ->> 'number'
    as number \gset
set local session authorization admin_1;
select results_eq(
    format('select outcome, duplicate, moved from (%s) as d',
           testing.dismissing('sensor_1', 'sensor', 'both')),
    $$ values ('ok'::text, false, false) $$, 'dismisses a sensor, and moves nothing'
);
reset session authorization;
set local session authorization sensor_1;
select testing.refused(
    testing.call('report_observation', jsonb_build_object(
        'p_class', 'both', 'p_target', 'judged', 'p_number', :'number',
        'p_token', testing.token('looking'), 'p_is_green', false)),
    'forbidden', 'whose report is refused'
);
reset session authorization;

-- == expired and parked ===========================================================================

select testing.class('late', '{"loss_budget": 1}');
select testing.leased('parser', 'late');
select testing.clock_passes('1 day');
select testing.must('admin_1', testing.dismissing('worker_1', 'worker', 'late'));
select results_eq(
    $$ select c.state, c.loss_count from testing.campaign('parser', 'late') as c $$,
    $$ values ('ready'::text, 0) $$,
    'does not count a lease that had run out either, though one loss would have parked it'
);

-- Where a budget is spent already, an uncounted loss is not the one that parks.
select testing.class('spent', '{"loss_budget": 1}');
select testing.leased('parser', 'spent');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'spent') $$);
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{}"}', 'parser', 'spent'));
select testing.claim('parser', 'spent');
select testing.must('admin_1', testing.dismissing('worker_1', 'worker', 'spent'));
select results_eq(
    $$ select c.state, c.loss_count from testing.campaign('parser', 'spent') as c $$,
    $$ values ('ready'::text, 1) $$, 'parks nothing by a dismissal, though the budget is spent'
);

-- A role that is gone is dismissed by its name.
select testing.class('gone');
select testing.leased('parser', 'gone');
drop role worker_1;
set local session authorization admin_1;
select results_eq(
    format('select outcome, duplicate, moved from (%s) as d',
           testing.dismissing('worker_1', 'worker', 'gone')),
    $$ values ('ok'::text, false, true) $$, 'dismisses a role that is no longer there'
);
reset session authorization;
select is(testing.state('parser', 'gone'), 'ready', 'and takes its lease');

-- == refusals =====================================================================================

create role between_them;
grant fencepost_admin to between_them;
grant between_them to stranger;
set local session authorization stranger;
select testing.refused(
    testing.dismissing('worker_2', 'worker'), 'forbidden', 'refuses whose membership is indirect'
);
select testing.refused(
    testing.dismissing('worker_2', 'worker', 'nowhere'), 'forbidden',
    'also where there is no such class'
);
reset session authorization;
select is(testing.state(), 'leased', 'and takes nothing then');

-- == misuse =======================================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.dismissing(null, 'worker'), 'KN101', 'argument p_principal is null', 'wants a principal'
);
select testing.raises(
    testing.dismissing('worker_2', null), 'KN101', 'argument p_duty is null', 'wants a duty'
);
select testing.raises(
    testing.dismissing('worker_2', 'worker', null), 'KN101', 'argument p_class is null',
    'wants a class'
);
select testing.raises(
    testing.dismissing('worker_2', 'reaper'), 'KN102', 'there is no such duty',
    'wants a duty that is enrolled for'
);
select testing.raises(
    testing.dismissing('worker_2', 'worker', 'A'), 'KN102', null, 'wants the name of a class'
);
select testing.raises(
    testing.dismissing('worker_2', 'worker', 'nowhere'), 'KN106', 'there is no class nowhere',
    'wants a class that there is'
);
select testing.raises(
    testing.dismissing('worker_22', 'worker'), 'KN109', 'there is no principal worker_22',
    'does not take a slip in the name for somebody who is dismissed already'
);
select testing.raises(
    testing.dismissing(' ', 'worker'), 'KN102', 'argument p_principal is empty', 'wants a name'
);
select testing.raises(
    testing.dismissing(repeat('x', 64), 'worker'), 'KN103', 'argument p_principal is too long',
    'of at most 63 bytes'
);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.dismissing('worker_2', 'worker'), 'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
