-- ledger.move writes a campaign's move; ledger.transition says what becomes of lease, seat and
-- operations. Which moves are legal for whom is for the guard: tests/pgtap/campaign/guard.sql.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(15);

create function testing.move(
    p_principal  name,
    p_transition text,
    p_to_state   text,
    p_changes    jsonb default '{}',
    p_class      text  default 'fix',
    p_detail     jsonb default null,
    p_content    bytea default null
)
    returns jsonb
    language sql
as $fn$
    select testing.by(p_principal, format(
        'ledger.move(jsonb_populate_record(testing.campaign(%L, %L), %L), %L, %L, ledger.clock(), '
        '%L, %L)', 'parser', p_class, p_changes, p_transition, p_to_state, p_detail, p_content
    ))
$fn$;

-- == what it writes ===============================================================================

select testing.class('few', '{"seats": 1}');
select testing.leased('parser', 'few');
select testing.clock_passes('5 minutes');
select is(
    testing.move(
        'worker_1', 'release', 'ready',
        '{"release_count": 4, "failure_reason": "so", "next_attempt_at": "2026-09-02 03:00+00",
          "parked_for": "loss_budget", "closed_at": "2026-09-02 03:00+00", "target": "another",
          "generation": 1, "evidence_uri": "file:///e"}',
        'few', '{"reason": "so", "left_out": null}', '\xaa'
    ),
    to_jsonb(testing.campaign('parser', 'few')), 'ledger.move returns the row as written'
);
select row_eq(
    $$ select c.state, c.generation, c.release_count, c.failure_reason, c.next_attempt_at,
              c.evidence_uri
       from testing.campaign('parser', 'few') as c $$,
    row('ready'::text, 1::bigint, 4, 'so'::text, timestamptz '2026-09-02 03:00+00',
        'file:///e'::text),
    'with what was set in it'
);
select row_eq(
    $$ select c.lease_principal, c.lease_principal_oid, c.lease_token_sha256, c.lease_label,
              c.lease_granted_at, c.lease_expires_at, c.lease_xid
       from testing.campaign('parser', 'few') as c $$,
    row(null::name, null::oid, null::bytea, null::text, null::timestamptz, null::timestamptz,
        null::xid8),
    'a lease that the move returns is gone'
);
select row_eq(
    $$ select c.parked_for, c.closed_at from testing.campaign('parser', 'few') as c $$,
    row(null::text, null::timestamptz),
    'what only a parked or a closed campaign has it has not'
);
select row_eq(
    $$ select e.transition, e.at, e.detail, e.content_sha256, e.generation
       from testing.event('parser', 'few') as e $$,
    row('release'::text, timestamptz '2026-09-01 03:05+00', '{"reason": "so"}'::jsonb,
        '\xaa'::bytea, 1::bigint),
    'the event says what it was told, nulls left out'
);
select is(
    (select s.campaign_id from ledger.seat as s where s.class = 'few'), null, 'and the seat is free'
);

-- == revoked, parked, closed ======================================================================

select testing.leased('parser', 'ship');
select testing.move('admin_1', 'park', 'parked', '{"parked_for": "loss_budget"}', 'ship');
select row_eq(
    $$ select c.state, c.generation, c.lease_principal, c.parked_for, c.closed_at
       from testing.campaign('parser', 'ship') as c $$,
    row('parked'::text, 2::bigint, null::name, 'loss_budget'::text, null::timestamptz),
    'a move that revokes raises the generation; what is parked keeps why'
);
select testing.move('admin_1', 'cancel', 'cancelled', '{"parked_for": "loss_budget"}', 'ship');
select row_eq(
    $$ select c.state, c.generation, c.parked_for, c.closed_at
       from testing.campaign('parser', 'ship') as c $$,
    row('cancelled'::text, 3::bigint, null::text, testing.clock()),
    'what is closed has its time, and is not parked'
);

-- == operations ===================================================================================

select testing.allows_operations('fix');
select testing.leased();
select testing.pushed('started') as operation \gset
select testing.move('worker_1', 'release', 'ready');
select is(
    (testing.operation(:'operation')).state, 'unknown', 'what is open is settled, where it says so'
);
select testing.move('admin_1', 'cancel', 'cancelled');
select testing.leased();
select testing.pushed('completed') as operation \gset
select testing.move('worker_1', 'release', 'ready');
select is((testing.operation(:'operation')).state, 'completed', 'what is not open stays');

-- == what it does not move ========================================================================

select testing.class('still');
select testing.leased('parser', 'still');
select testing.ledger_digest(true) as before \gset
select is(
    testing.move('worker_1', 'release', 'ready', '{"generation": 0}', 'still') ->> 'class', null,
    'a row of another generation is not moved'
);
select is(
    testing.move('worker_1', 'submit', 'attempted', '{"state": "ready"}', 'still') ->> 'class',
    null, 'nor one in another state'
);
select testing.raises(
    $$ select testing.move('worker_1', 'release', 'attempted', p_class => 'still') $$, 'KN901',
    null, 'a move that is not legal the guard refuses'
);
select testing.raises(
    $$ select testing.move('verifier_1', 'release', 'ready', p_class => 'still') $$, 'KN901',
    null, 'and one that is not the session''s to make'
);
select is(testing.ledger_digest(true), :'before', 'of all that nothing is written');

select finish();
rollback;
