-- ledger.refuse records what was not carried out, up to a rate per principal.
\ir ../_support/fixture.psql
select plan(22);

-- Refusals of worker_elsewhere, n at once; returns how many were answered forbidden.
create function testing.knocks(p_count integer) returns bigint language sql as $fn$
    select count(*) filter (where a ->> 'outcome' = 'forbidden')
    from (
        select testing.act('worker_elsewhere',
                           'select * from kernel.claim(p_class => ''fix'', p_token => '
                           || quote_literal(testing.token('knock ' || n)) || ')') as a
        from generate_series(1, p_count) as g (n)
    ) as k;
$fn$;
create function testing.recorded() returns bigint language sql as $fn$
    select count(*) from testing.refusals('worker_elsewhere');
$fn$;
create function testing.suppressed() returns bigint language sql as $fn$
    select sum(suppressed)::bigint from testing.refusals('worker_elsewhere');
$fn$;

-- == what is recorded =============================================================================

select testing.leased();
set local session authorization worker_2;
select results_eq(
    $$ select outcome, duplicate, moved, note, class, campaign_id, generation, state,
              lease_expires_at, message
       from kernel.submit(p_class => 'fix', p_campaign_id => testing.id(), p_generation => 7,
                          p_token => testing.token(), p_fingerprint => 'f', p_approach => null,
                          p_result => '{}') $$,
    $$ values ('stale', false, false, null::text, 'fix', testing.id(), 1::bigint, 'leased',
               null::timestamptz, 'generation 7 is not the campaign''s present one, 1') $$,
    'ledger.refuse answers with the campaign''s present generation and state, and a sentence'
);
select results_eq(
    $$ select r.class, r.principal, r.function, r.outcome, r.campaign_id, r.generation, r.message,
              r.refused_at, r.suppressed
       from testing.refusals() as r $$,
    $$ values ('fix', 'worker_2'::name, 'submit', 'stale', testing.id(), 7::bigint,
               'generation 7 is not the campaign''s present one, 1',
               timestamptz '2026-09-01 03:00+00', 0::bigint) $$,
    'ledger.refuse records who called what, and the generation that was named'
);
reset session authorization;

-- == the rate =====================================================================================

select is(testing.knocks(60), 60::bigint, 'ledger.refuse answers sixty refusals in a minute');
select is(testing.recorded(), 60::bigint, 'ledger.refuse records sixty refusals in a minute');
select is(testing.suppressed(), 0::bigint, 'ledger.refuse suppresses none of sixty');
select testing.clock_passes('59 seconds');
select is(testing.knocks(40), 40::bigint, 'ledger.refuse answers what it does not record as well');
select is(testing.recorded(), 60::bigint, 'ledger.refuse records nothing beyond sixty in a minute');
select is(
    (select array_agg(r.suppressed order by r.refusal_no desc)
     from testing.refusals('worker_elsewhere') as r)[1:2],
    array[40, 0]::bigint[],
    'ledger.refuse counts what it does not record in the principal''s newest refusal'
);
select is(
    (select max(r.refused_at) from testing.refusals('worker_elsewhere') as r),
    timestamptz '2026-09-01 03:00+00',
    'ledger.refuse leaves the time of the refusal in which it counts'
);
set local session authorization worker_2;
select testing.refused(
    $$ select * from kernel.claim(p_class => 'elsewhere', p_token => testing.token('x')) $$,
    'forbidden', 'ledger.refuse counts each principal by itself'
);
reset session authorization;
select is(
    testing.ledger_digest(), set_config('test.digest', testing.ledger_digest(), true),
    'ledger.refuse''s next test knows what stands in the ledger'
);
select is(testing.knocks(1), 1::bigint, 'ledger.refuse answers once more');
select is(
    testing.ledger_digest(), current_setting('test.digest'),
    'ledger.refuse writes nothing but refusals, also beyond the rate'
);
select testing.clock_passes('1 second');
select is(testing.knocks(1), 1::bigint, 'ledger.refuse answers a minute after the first');
select row_eq(
    $$ select testing.recorded(), testing.suppressed() $$, row(61::bigint, 41::bigint),
    'ledger.refuse records again as soon as the sixtieth before is a minute old'
);

-- It is a sliding minute, not one that begins anew.
select testing.clock_passes('1 hour');
select testing.knocks(30) > 0;
select testing.clock_passes('40 seconds');
select testing.knocks(30) > 0;
select is(testing.recorded(), 121::bigint, 'ledger.refuse records thirty and thirty');
select testing.clock_passes('19 seconds');
select testing.knocks(5) > 0;
select is(testing.recorded(), 121::bigint, 'ledger.refuse looks back a minute from every call');
select testing.clock_passes('1 second');
select testing.knocks(35) > 0;
select is(
    testing.recorded(), 151::bigint,
    'ledger.refuse has room again for as many as have become older than a minute'
);

-- == the table ====================================================================================

select throws_ok(
    $$ select ledger.refuse('claim', 'no such outcome', 'fix', 'x') $$, '23503', null,
    'ledger.refuse takes no outcome that ledger.answer does not list'
);
select throws_ok(
    $$ select ledger.refuse('claim', 'ok', 'fix', 'x') $$, '23514', null,
    'ledger.refuse does not record ok'
);
set local session authorization worker_2;
select testing.raises(
    $$ select ledger.refuse('claim', 'stale', 'fix', 'x') $$, '42501', null,
    'ledger.refuse is not called by a worker'
);
select testing.raises(
    'select from ledger.refusal', '42501', 'permission denied for schema ledger',
    'ledger.refusal is private'
);

reset session authorization;
select finish();
rollback;
