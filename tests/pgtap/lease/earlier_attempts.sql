-- What was tried before, and what is not to be tried again: ledger.earlier_attempts,
-- ledger.refused_fingerprints.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(15);

create function testing.tried()
    returns text
    language sql
as $fn$
    select string_agg(format('%s/%s %s %s', e ->> 'campaign_id', e ->> 'attempt_no',
                             e ->> 'ending', e ->> 'fingerprint'), ', ')
    from jsonb_array_elements(ledger.earlier_attempts('fix', testing.id())) as e
$fn$;

create function testing.failed(p_fingerprint text)
    returns void
    language sql
as $fn$
    select testing.claim();
    select testing.must('worker_1', testing.holding('fail', jsonb_build_object(
        'p_reason', 'nothing helped', 'p_fingerprint', p_fingerprint)));
    select testing.clock_passes('1 hour');
$fn$;

select testing.open();
select testing.id() as first \gset
select is(
    ledger.earlier_attempts('fix', testing.id()), '[]'::jsonb, 'at first nothing was tried'
);
select is(
    ledger.refused_fingerprints('fix', testing.id()), '{}'::text[], 'and nothing is refused'
);

select testing.claim();
select is(testing.tried(), null, 'an attempt that goes on is none of the earlier ones');
select testing.must('worker_1', testing.holding('fail', jsonb_build_object(
    'p_reason', 'nothing helped', 'p_approach', 'a patch', 'p_fingerprint', 'patch-b')));
select is(
    ledger.earlier_attempts('fix', testing.id()),
    jsonb_build_array(jsonb_build_object(
        'campaign_id', testing.id(), 'attempt_no', 1, 'ending', 'failed',
        'reason', 'nothing helped', 'approach', 'a patch', 'fingerprint', 'patch-b',
        'principal', 'worker_1', 'begun_at', timestamptz '2026-09-01 03:00+00',
        'ended_at', timestamptz '2026-09-01 03:00+00'
    )),
    'one that failed is told with its approach and its reason'
);
select testing.clock_passes('1 hour');

-- Lost and released: told, and not refused.
select testing.claim();
select testing.must('worker_1', testing.holding('release'));
select testing.claim();
select testing.clock_passes('1 hour');
select testing.must('reaper_1', $$ select * from kernel.reap(p_class => 'fix') $$);
select is(
    ledger.refused_fingerprints('fix', testing.id()), '{patch-b}'::text[],
    'what failed is refused, what was released or lost is not'
);

-- Rejected: the worker's fingerprint, and the verifier's own.
select testing.claim();
select testing.submit(p_fingerprint => 'patch-c');
select testing.claim_verification();
select testing.must('verifier_1', testing.judging(
    '{"p_verdict": "rejected", "p_exit_code": 2, "p_reason": "red", "p_fingerprint": "patch-a"}'));
select testing.clock_passes('1 hour');
select is(
    ledger.refused_fingerprints('fix', testing.id()), '{patch-a,patch-b,patch-c}'::text[],
    'what was rejected is refused as its worker and as its verifier know it, in order'
);
select is(
    testing.tried(),
    format('%1$s/1 failed patch-b, %1$s/2 released , %1$s/3 lost , %1$s/4 rejected patch-c', :first),
    'all are told, the oldest first'
);

-- The next campaign of the target inherits.
select testing.cancel();
select testing.open();
select testing.failed('patch-d');
select is(
    testing.tried(),
    format('%1$s/1 failed patch-b, %1$s/2 released , %1$s/3 lost , %1$s/4 rejected patch-c, ',
           :first) || format('%s/1 failed patch-d', testing.id()),
    'a campaign that inherits is told of those before it'
);
select is(
    ledger.refused_fingerprints('fix', testing.id()),
    '{patch-a,patch-b,patch-c,patch-d}'::text[], 'and refuses what they refuse'
);
select is(
    ledger.refused_fingerprints('fix', :first), '{patch-a,patch-b,patch-c}'::text[],
    'but not the other way round'
);

-- Allowed again, here or in the campaign before.
select testing.must('admin_1', testing.on_campaign('allow_repeat', jsonb_build_object(
    'p_fingerprint', 'patch-b', 'p_reason', 'the base was broken')));
select is(
    ledger.refused_fingerprints('fix', testing.id()), '{patch-a,patch-c,patch-d}'::text[],
    'what an admin has allowed is refused no longer'
);
select is(
    ledger.refused_fingerprints('fix', :first), '{patch-a,patch-b,patch-c}'::text[],
    'where he allowed it'
);
select is(
    ledger.refused_fingerprints('ship', testing.id()), '{}'::text[], 'another class has its own'
);

-- Outdated: the same patch on the new base may be right.
select testing.promoting();
select testing.must('verifier_1', testing.holding(
    'outdate', '{"p_reason": "somebody pushed"}', 'parser', 'ship'));
select is((testing.attempt('parser', 'ship')).ending, 'outdated', 'what is outdated');
select is(
    ledger.refused_fingerprints('ship', testing.id('parser', 'ship')), '{}'::text[],
    'is not refused'
);

select finish();
rollback;
