-- ledger.live_attempt is the one that has not ended; ledger.end_attempt ends it, once.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
select plan(10);

create function testing.ended(p_ending text, p_reason text, p_content text)
    returns void
    language sql
as $fn$
    select testing.by('worker_1', format(
        'ledger.end_attempt(testing.campaign(), %L, ledger.clock(), %L, %L::bytea)',
        p_ending, p_reason, p_content
    ))
$fn$;

select testing.open();
select is(ledger.live_attempt(testing.campaign()), null, 'nobody has tried: no attempt is live');
select lives_ok(
    $$ select testing.ended('failed', 'so', '\xaa') $$, 'and to end it is no mistake'
);
select is(testing.attempt(), null, 'and makes none');

select testing.claim();
select is(
    (ledger.live_attempt(testing.campaign())).attempt_no, 1, 'the one begun by a claim is live'
);
select testing.clock_passes('5 minutes');
select testing.ended('failed', 'it is still red', '\xaa');
select row_eq(
    $$ select a.ending, a.reason, a.ended_at, a.ended_sha256, a.attempt_no
       from testing.attempt() as a $$,
    row('failed'::text, 'it is still red'::text, timestamptz '2026-09-01 03:05+00',
        '\xaa'::bytea, 1),
    'ledger.end_attempt writes how it ended, when, why, and by which call'
);
select is(ledger.live_attempt(testing.campaign()), null, 'then none is live');

select testing.clock_passes('5 minutes');
select testing.ended('lost', 'another reason', '\xbb');
select row_eq(
    $$ select a.ending, a.reason, a.ended_at, a.ended_sha256 from testing.attempt() as a $$,
    row('failed'::text, 'it is still red'::text, timestamptz '2026-09-01 03:05+00',
        '\xaa'::bytea),
    'what has ended stays as it ended'
);

-- One campaign's newest attempt, and nobody else's.
select testing.class('two');
select testing.leased('one', 'two', 'worker_1', testing.token('one'));
select testing.leased('other', 'two', 'worker_2', testing.token('other'));
select testing.by('worker_1', $$
    ledger.end_attempt(testing.campaign('one', 'two'), 'released', ledger.clock()) $$);
select is(
    (testing.attempt('one', 'two')).ending || ' ' ||
    coalesce((testing.attempt('one', 'two')).reason, 'for no reason'), 'released for no reason',
    'a reason need not be given'
);
select is((testing.attempt('other', 'two')).ending, null, 'another campaign''s attempt goes on');
select is(
    (ledger.live_attempt(testing.campaign('other', 'two'))).principal, 'worker_2'::name,
    'and is live'
);

select finish();
rollback;
