-- audit.events shows auditors every move of every campaign, by whom, from what to what, when.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
select plan(11);

select testing.is_for_auditors('events');
select columns_are(
    'audit', 'events',
    array['class', 'campaign_id', 'event_no', 'transition', 'from_state', 'to_state', 'generation',
          'by_principal', 'holder', 'is_late', 'next_attempt_at', 'at', 'epoch', 'xid', 'detail'],
    'has these columns'
);

select testing.promoting('parser', 'ship');
select testing.moved() as operation \gset
select testing.clock_passes('16 minutes');
select testing.must('verifier_1', testing.promotion());
select testing.clock_passes('1 day');
select testing.observed(true, 'parser', 'ship');
select testing.leased('parser', 'fix');
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);

set local session authorization auditor_1;
select results_eq(
    $$ select event_no, transition, from_state, to_state, generation, by_principal, holder, is_late,
              at, epoch
       from audit.events where class = 'ship' order by event_no $$,
    $$ values (1::bigint, 'open'::text, 'none'::text, 'ready'::text, 0::bigint, 'sensor_1'::name,
               null::name, false, '2026-09-01 03:00+00'::timestamptz, 0),
              (2, 'claim', 'ready', 'leased', 1, 'worker_1', 'worker_1', false,
               '2026-09-01 03:00+00', 0),
              (3, 'submit', 'leased', 'attempted', 1, 'worker_1', 'worker_1', false,
               '2026-09-01 03:00+00', 0),
              (4, 'claim_verification', 'attempted', 'verifying', 2, 'verifier_1', 'verifier_1',
               false, '2026-09-01 03:00+00', 0),
              (5, 'accept', 'verifying', 'promoting', 2, 'verifier_1', 'verifier_1', false,
               '2026-09-01 03:00+00', 0),
              (6, 'promote', 'promoting', 'verified', 2, 'verifier_1', 'verifier_1', true,
               '2026-09-01 03:16+00', 0),
              (7, 'confirm', 'verified', 'confirmed', 2, 'sensor_1', null, false,
               '2026-09-02 03:16+00', 0) $$,
    'shows the whole life of a campaign, numbered without a gap'
);
select results_eq(
    $$ select event_no, transition, by_principal, holder, detail from audit.events
       where class = 'fix' and transition = 'lose' $$,
    $$ values (3::bigint, 'lose'::text, 'reaper_1'::name, 'worker_1'::name,
               '{"attempt": 1, "reason": "the lease ran out"}'::jsonb) $$,
    'with who made the move and who held the campaign'
);
select results_eq(
    $$ select distinct xid from audit.events $$, $$ select pg_current_xact_id() $$,
    'and the transaction of each'
);
select is(
    (select detail from audit.events where transition = 'promote'),
    jsonb_build_object('operation', :'operation'::text)
    || '{"attempt": 1, "old": "base-1", "new": "commit-of-patch-1", "fence": "fence-1",
         "read_back": {"commit": "commit-of-patch-1", "ref": "tip-1"}}'::jsonb,
    'with the four values of a promotion'
);
select throws_ok(
    $$ insert into audit.events (class) values ('fix') $$, '42501', null, 'is no way to write'
);
reset session authorization;
select testing.shows_no_token('events');

select finish();
rollback;
