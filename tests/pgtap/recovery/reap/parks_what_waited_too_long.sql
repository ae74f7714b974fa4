-- kernel.reap parks what nobody judged within verify_within, or promoted within promote_within.
\ir ../../_support/fixture.psql
\ir ../../_support/call.psql
select plan(38);

-- == without a verdict ============================================================================

select testing.class('v', '{"verify_within": "2 days"}');
select testing.attempted('parser', 'v');
select testing.clock_passes('1 day 23:59:59.999999');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'v') $$, 'leaves an attempt alone within verify_within'
);
reset session authorization;
select testing.clock_is('2026-09-03 03:00+00');
set local session authorization reaper_1;
select results_eq(
    $$ select * from kernel.reap(p_class => 'v') $$,
    $$ values ('ok'::text, false, true, 'expire'::text, 'v'::text, testing.id('parser', 'v'),
               1::bigint, 'parked'::text, null::timestamptz, null::text) $$,
    'parks it then: nobody held it, so the generation stays'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.parked_for, c.failure_count, c.loss_count, c.verification_loss_count,
              c.closed_at
       from testing.campaign('parser', 'v') as c $$,
    $$ values ('parked'::text, 'verify_within'::text, 0, 0, 0, null::timestamptz) $$,
    'names the term, and counts nothing'
);
select results_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder, e.at,
              e.detail
       from testing.event('parser', 'v') as e $$,
    $$ values ('expire'::text, 'attempted'::text, 'parked'::text, 1::bigint, 'reaper_1'::name,
               null::name, '2026-09-03 03:00+00'::timestamptz,
               '{"attempt": 1, "parked_for": "verify_within"}'::jsonb) $$,
    'writes the event'
);
select is((testing.attempt('parser', 'v')).ending, null, 'leaves the attempt to be judged');
set local session authorization reaper_1;
select is_empty($$ select * from kernel.reap(p_class => 'v') $$, 'parks it once');
reset session authorization;

-- A person sends it on, and the term begins anew.
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'v'));
select is(testing.state('parser', 'v'), 'attempted', 'it is redriven to attempted');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'v') $$, 'leaves it alone when it was redriven'
);
reset session authorization;
select testing.clock_passes('2 days');
set local session authorization reaper_1;
select results_eq(
    $$ select note from kernel.reap(p_class => 'v') $$, $$ values ('expire'::text) $$,
    'for verify_within'
);
reset session authorization;

-- == held meanwhile ===============================================================================

select testing.class('held', '{"verify_within": "1 hour"}');
select testing.attempted('parser', 'held');
select testing.clock_passes('59 minutes');
select testing.claim_verification('parser', 'held');
select testing.clock_passes('10 minutes');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'held') $$,
    'does not take it from a verifier whose lease runs'
);
reset session authorization;
select testing.judge('unverifiable', 'parser', 'held');
set local session authorization reaper_1;
select results_eq(
    $$ select note, state from kernel.reap(p_class => 'held') $$,
    $$ values ('expire'::text, 'parked'::text) $$,
    'an abstention does not make the term any longer'
);
reset session authorization;

-- A verifier that claims and dies over and over.
select testing.class('loop', '{"verify_within": "1 hour", "verification_loss_budget": 100}');
select testing.attempted('parser', 'loop');
create function pg_temp.claim_and_die()
    returns text
    language plpgsql
as $fn$
declare
    v_notes text := '';
begin
    while testing.state('parser', 'loop') = 'attempted' loop
        perform testing.must('verifier_1', $$ select * from kernel.claim_verification(
            p_class => 'loop', p_token => gen_random_uuid(), p_lease_for => '20 minutes') $$);
        perform testing.clock_passes('20 minutes');
        v_notes := v_notes || ' ' || (testing.act('reaper_1', $$
            select string_agg(r.note, ' then ') as notes from kernel.reap(p_class => 'loop') as r
        $$) ->> 'notes');
    end loop;
    return v_notes;
end
$fn$;
select is(
    pg_temp.claim_and_die(),
    ' lose_verification lose_verification lose_verification then expire',
    'parks what a verifier claims and loses over and over: lost and parked in one pass'
);
select results_eq(
    $$ select c.state, c.parked_for, c.generation from testing.campaign('parser', 'loop') as c $$,
    $$ values ('parked'::text, 'verify_within'::text, 7::bigint) $$, 'and names the term'
);

-- Reckoned from the submission of this attempt, not of an earlier one.
select testing.class('anew', '{"verify_within": "1 hour"}');
select testing.verifying('parser', 'anew');
select testing.judge('rejected', 'parser', 'anew');
select testing.clock_passes('50 minutes');
select testing.claim('parser', 'anew');
select testing.submit('parser', 'anew', p_fingerprint => 'patch-2');
select testing.clock_passes('50 minutes');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'anew') $$, 'reckons from the attempt''s own submission'
);
reset session authorization;

-- Live: an admin who shortens it means what waits now.
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'anew', p_policy => '{"verify_within": "30 minutes"}') $$);
set local session authorization reaper_1;
select results_eq(
    $$ select note from kernel.reap(p_class => 'anew') $$, $$ values ('expire'::text) $$,
    'goes by the class''s term of today'
);
reset session authorization;

-- == without a promotion ==========================================================================

select testing.clock_is('2026-10-01 03:00+00');
select testing.class('p', '{"promotes": true, "promote_within": "2 hours"}');
select testing.promoting('parser', 'p');
select testing.clock_passes('1 hour');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'p') $$);
select testing.clock_passes('59 minutes');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'p') $$,
    'leaves an acceptance alone within promote_within'
);
reset session authorization;
select testing.clock_passes('1 minute');
set local session authorization reaper_1;
select results_eq(
    $$ select outcome, moved, note, campaign_id, generation, state
       from kernel.reap(p_class => 'p') $$,
    $$ values ('ok'::text, true, 'expire'::text, testing.id('parser', 'p'), 3::bigint,
               'parked'::text) $$,
    'parks it then, reckoned from the verdict and not from the loss'
);
reset session authorization;
select results_eq(
    $$ select c.parked_for, c.promotion_loss_count from testing.campaign('parser', 'p') as c $$,
    $$ values ('promote_within'::text, 1) $$, 'names the term'
);
select results_eq(
    $$ select e.transition, e.from_state, e.detail from testing.event('parser', 'p') as e $$,
    $$ values ('expire'::text, 'accepted'::text,
               '{"attempt": 1, "parked_for": "promote_within"}'::jsonb) $$,
    'writes the event'
);
select results_eq(
    $$ select a.ending, (testing.verdict('parser', 'p')).verdict
       from testing.attempt('parser', 'p') as a $$,
    $$ values (null::text, 'accepted'::text) $$, 'leaves attempt and verdict as they are'
);
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'parser', 'p'));
select is(testing.state('parser', 'p'), 'accepted', 'it is redriven to accepted');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'p') $$, 'and its term begins anew'
);
reset session authorization;

-- A promotion under way is not parked; verify_within does not concern it.
select testing.class('busy', '{"promotes": true, "promote_within": "1 hour",
                               "verify_within": "1 hour"}');
select testing.attempted('parser', 'busy');
select testing.must('verifier_1', $$ select * from kernel.claim_verification(
    p_class => 'busy', p_token => testing.token('verifier_1'), p_lease_for => '4 hours') $$);
select testing.judge('accepted', 'parser', 'busy');
select testing.clock_passes('3 hours');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'busy') $$,
    'takes nothing from a verifier that is promoting under a lease that runs'
);
reset session authorization;

-- == terms of what waits for work or a sensor are none ============================================

select testing.class('none', '{"verify_within": "1 second", "promote_within": "1 second"}');
select testing.verified('verified', 'none');
select testing.open('ready', 'none');
select testing.clock_passes('300 days');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'none') $$,
    'parks nothing that is ready or verified, however long'
);
reset session authorization;

-- == paused =======================================================================================

select testing.clock_is('2027-10-01 03:00+00');
select testing.class('stopped', '{"promotes": true, "verify_within": "2 hours",
                                  "promote_within": "1 hour"}');
select testing.accepted('accepted', 'stopped');
select testing.attempted('attempted', 'stopped');
select testing.clock_passes('40 minutes');
select testing.must('admin_1', $$ select * from kernel.pause(p_class => 'stopped') $$);
select testing.clock_passes('10 days');
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'stopped') $$,
    'parks nothing while the class is paused: nobody might have claimed it'
);
reset session authorization;
select testing.must('admin_1', $$ select * from kernel.pause(p_class => 'stopped') $$);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'stopped', p_policy => '{"promotes": true, "verify_within": "2 hours",
                                        "promote_within": "1 hour", "seats": 3}') $$);
select testing.must('admin_1', $$ select * from kernel.resume(p_class => 'stopped') $$);
set local session authorization reaper_1;
select is_empty(
    $$ select * from kernel.reap(p_class => 'stopped') $$,
    'nor what ran out meanwhile, when it goes on'
);
reset session authorization;
select testing.clock_passes('59:59.999999');
set local session authorization reaper_1;
select is_empty($$ select * from kernel.reap(p_class => 'stopped') $$, 'nor within the term');
reset session authorization;
-- Resumed again, and defined anew: neither begins a term.
select testing.must('admin_1', $$ select * from kernel.resume(p_class => 'stopped') $$);
select testing.must('admin_1', $$ select * from kernel.define_class(
    p_class => 'stopped', p_policy => '{"promotes": true, "verify_within": "2 hours",
                                        "promote_within": "1 hour"}') $$);
select testing.clock_passes('0.000001 seconds');
set local session authorization reaper_1;
select results_eq(
    $$ select campaign_id, note, state from kernel.reap(p_class => 'stopped') $$,
    $$ values (testing.id('accepted', 'stopped'), 'expire'::text, 'parked'::text) $$,
    'but what had promote_within again from then on'
);
reset session authorization;
select is(
    (testing.campaign('accepted', 'stopped')).parked_for, 'promote_within', 'and names the term'
);
-- Redriven after the resumption: its term begins with that, as it does elsewhere.
select testing.must('admin_1', testing.on_campaign('redrive', '{}', 'accepted', 'stopped'));
select testing.clock_passes('59:59.999999');
set local session authorization reaper_1;
select is_empty($$ select * from kernel.reap(p_class => 'stopped') $$, 'nor within verify_within');
reset session authorization;
select testing.clock_passes('0.000001 seconds');
set local session authorization reaper_1;
select results_eq(
    $$ select campaign_id, note from kernel.reap(p_class => 'stopped') order by campaign_id $$,
    $$ select testing.id(t.target, 'stopped'), 'expire'
       from unnest(array['accepted', 'attempted']) as t (target) order by 1 $$,
    'and what had verify_within again, or began its term after that'
);
reset session authorization;
select is(
    (testing.campaign('attempted', 'stopped')).parked_for, 'verify_within', 'and names the term'
);

-- Leases are taken back all the while; what comes of that waits like the rest.
select testing.class('halted', '{"verify_within": "1 hour"}');
select testing.verifying('parser', 'halted');
select testing.must('admin_1', $$ select * from kernel.pause(p_class => 'halted') $$);
select testing.clock_passes('2 hours');
set local session authorization reaper_1;
select results_eq(
    $$ select note, state from kernel.reap(p_class => 'halted') $$,
    $$ values ('lose_verification'::text, 'attempted'::text) $$,
    'takes a verification back while the class is paused, and does not park it too'
);
reset session authorization;
select is(testing.state('parser', 'halted'), 'attempted', 'it waits to be judged');

-- == within the limit =============================================================================

select testing.class('many', '{"verify_within": "1 hour"}');
select testing.attempted('one', 'many');
select testing.attempted('two', 'many');
select testing.attempted('three', 'many');
select testing.claim_verification('one', 'many');
select testing.clock_passes('1 hour');
set local session authorization reaper_1;
select results_eq(
    $$ select note from kernel.reap(p_class => 'many', p_limit => 1) $$,
    $$ values ('lose_verification'::text) $$, 'counts losses and parkings against one limit'
);
select results_eq(
    $$ select note, count(*) from kernel.reap(p_class => 'many', p_limit => 2) group by note $$,
    $$ values ('expire'::text, 2::bigint) $$, 'parks up to it'
);
select results_eq(
    $$ select note from kernel.reap(p_class => 'many', p_limit => 2) $$,
    $$ values ('expire'::text) $$, 'and the rest when it is called again'
);
select is_empty(
    $$ select * from kernel.reap(p_class => 'many', p_limit => 2) $$, 'and then nothing'
);
reset session authorization;

select finish();
rollback;
