-- audit.operation_events shows auditors the history of every external operation.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/view.psql
\ir ../_support/operation.psql
select plan(10);

select testing.is_for_auditors('operation_events');
select columns_are(
    'audit', 'operation_events',
    array['class', 'operation_key', 'event_no', 'incarnation', 'revision', 'event', 'from_state',
          'to_state', 'by_principal', 'owner', 'campaign_id', 'is_late', 'reason', 'diagnostic',
          'at', 'epoch', 'xid'],
    'has these columns'
);
select testing.allows_operations('fix');
select testing.leased();
select testing.pushed('started') as push \gset
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', $$ select * from kernel.reap('fix') $$);
select testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
    'p_class', 'fix', 'p_token', testing.token('lost'))));
select testing.must('admin_1', testing.resolving(
    'failed', '{"p_reason": "fenced off, and not there"}', :'push'));
set local session authorization auditor_1;
select results_eq(
    $$ select e.event_no, e.revision, e.event, e.from_state, e.to_state, e.by_principal, e.owner,
              e.campaign_id, e.reason, e.at, e.epoch, e.xid = pg_current_xact_id()
       from audit.operation_events as e order by e.event_no $$,
    $$ values
       (1::bigint, 1, 'begin'::text, 'none'::text, 'pending'::text, 'worker_1'::name,
        'worker_1'::name, testing.id(), null::text, '2026-09-01 03:00+00'::timestamptz, 0, true),
       (2, 2, 'start', 'pending', 'pending', 'worker_1', 'worker_1', testing.id(), null,
        '2026-09-01 03:00+00', 0, true),
       (3, 3, 'abandon', 'pending', 'unknown', 'reaper_1', 'worker_1', testing.id(),
        'its lease ended by lose', '2026-09-01 03:15+00', 0, true),
       (4, 4, 'resolve', 'unknown', 'failed', 'admin_1', 'worker_1', testing.id(),
        'fenced off, and not there', '2026-09-01 03:15+00', 1, true) $$,
    'shows every move: whose it was, who made it, why and when, in which epoch and transaction'
);
select throws_ok($$ delete from audit.operation_events $$, '42501', null, 'is no way to write');
select throws_ok(
    $$ select * from ledger.operation_event $$, '42501', null, 'nor to the table behind it'
);
reset session authorization;
select testing.shows_no_token('operation_events');
select testing.must('admin_1', $$ select * from kernel.define_class('none') $$);
select is(
    (select count(*) from ledger.operation_event as e
     join ledger.operation as o using (class, operation_key)
     where e.event_no = o.event_count and e.to_state = o.state), 1::bigint,
    'its last event is what the operation is'
);

select finish();
rollback;
