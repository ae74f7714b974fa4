-- ledger.lose takes a lease away from whoever holds it; what was submitted stays.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
select plan(14);

create function testing.lost(p_class text, p_is_counted boolean default true)
    returns jsonb
    language sql
as $fn$
    select testing.by('reaper_1', format(
        'ledger.lose(testing.campaign(%L, %2$L), ledger.known_class(%2$L), ledger.clock(), %L, %L)',
        'parser', p_class, 'it is gone', p_is_counted
    ))
$fn$;

create function testing.counts(p_class text)
    returns text
    language sql
as $fn$
    select format('%s, generation %s, lost %s, %s, %s%s', c.state, c.generation, c.loss_count,
                  c.verification_loss_count, c.promotion_loss_count, ', for ' || c.parked_for)
    from testing.campaign('parser', p_class) as c
$fn$;

select testing.class('one', '{"loss_budget": 1, "verification_loss_budget": 1,
                              "promotion_loss_budget": 1, "promotes": true}');
select testing.class('two', '{"loss_budget": 2, "verification_loss_budget": 2,
                              "promotion_loss_budget": 2, "promotes": true}');

-- == work =========================================================================================

select testing.open('parser', 'two');
select testing.clock_passes('10 minutes');
select testing.claim('parser', 'two');
select testing.clock_passes('10 minutes');
select is(
    testing.lost('two'), to_jsonb(testing.campaign('parser', 'two')),
    'ledger.lose returns the campaign as it stands then'
);
select is(
    testing.counts('two'), 'ready, generation 2, lost 1, 0, 0', 'work goes back to ready, counted'
);
select row_eq(
    $$ select c.lease_principal, c.lease_token_sha256, c.lease_expires_at, c.failure_count,
              c.next_attempt_at
       from testing.campaign('parser', 'two') as c $$,
    row(null::name, null::bytea, null::timestamptz, 0, timestamptz '2026-09-01 03:00+00'),
    'nobody holds it; it is no failure, and keeps its age'
);
select row_eq(
    $$ select a.ending, a.reason, a.ended_at from testing.attempt('parser', 'two') as a $$,
    row('lost'::text, 'it is gone'::text, timestamptz '2026-09-01 03:20+00'),
    'the attempt was lost'
);
select row_eq(
    $$ select e.transition, e.to_state, e.generation, e.by_principal, e.holder, e.detail
       from testing.event('parser', 'two') as e $$,
    row('lose'::text, 'ready'::text, 2::bigint, 'reaper_1'::name, 'worker_1'::name,
        '{"attempt": 1, "reason": "it is gone"}'::jsonb),
    'the log says who took it from whom, and why'
);
select testing.claim('parser', 'two');
select testing.lost('two', false);
select is(
    testing.counts('two'), 'ready, generation 4, lost 1, 0, 0', 'one that is not counted is not'
);
select testing.claim('parser', 'two');
select testing.lost('two');
select is(
    testing.counts('two'), 'parked, generation 6, lost 2, 0, 0, for loss_budget',
    'with the last of its budget it parks'
);

-- == verification =================================================================================

select testing.verifying('parser', 'one');
select testing.lost('one', false);
select is(
    testing.counts('one'), 'attempted, generation 3, lost 0, 0, 0',
    'a verification goes back to attempted'
);
select is((testing.attempt('parser', 'one')).ending, null, 'and what was submitted stays');
select testing.claim_verification('parser', 'one');
select testing.lost('one');
select is(
    testing.counts('one'), 'parked, generation 5, lost 0, 1, 0, for verification_loss_budget',
    'counted against a budget of its own'
);
select is((testing.event('parser', 'one')).transition, 'lose_verification', 'by its own move');

-- == promotion ====================================================================================

select testing.class('three', '{"promotes": true, "promotion_loss_budget": 1}');
select testing.promoting('parser', 'three');
select testing.lost('three', false);
select is(
    testing.counts('three'), 'accepted, generation 3, lost 0, 0, 0',
    'a promotion goes back to accepted'
);
select is((testing.event('parser', 'three')).transition, 'lose_promotion', 'by its own move');
select testing.class('four', '{"promotes": true, "promotion_loss_budget": 1}');
select testing.promoting('parser', 'four');
select testing.lost('four');
select is(
    testing.counts('four'), 'parked, generation 3, lost 0, 0, 1, for promotion_loss_budget',
    'and parks with the last of its own'
);

select finish();
rollback;
