-- ledger.repeated_ending answers a submit, fail or release whose lease is not held any more.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(10);

create function testing.answer(
    p_content   bytea,
    p_principal name   default 'worker_1',
    p_token     text   default 'worker_1',
    p_generation bigint default 1
)
    returns text
    language sql
as $fn$
    select concat_ws(' ', r.receipt ->> 'outcome', r.receipt ->> 'state',
                     case when (r.receipt ->> 'duplicate')::boolean then 'duplicate' end)
    from (select testing.by(p_principal, format(
        'ledger.repeated_ending(%L, %L, %s, %s, ledger.token_digest(%L), %L)',
        'submit', 'fix', testing.id(), p_generation, testing.token(p_token), p_content
    ))) as r (receipt)
$fn$;

select testing.attempted();
select (testing.attempt()).submitted_sha256 as submitted \gset
select is(
    testing.answer(:'submitted'), 'ok attempted duplicate', 'the call that submitted is known again'
);
select testing.claim_verification();
select testing.judge('rejected');
select is(
    testing.answer(:'submitted'), 'ok ready duplicate', 'however far the campaign has moved'
);
select is(count(*), 0::bigint, 'and is no refusal') from testing.refusals('worker_1');
select is(testing.answer(null), 'stale ready', 'what said nothing is none');
select is(testing.answer('\xaa'), 'stale ready', 'nor what said something else');
select is(
    testing.answer(:'submitted', p_generation => 2), 'not_holder ready', 'or of another lease'
);
select is(testing.answer(:'submitted', 'worker_2'), 'stale ready', 'or by another principal');
select is(testing.answer(:'submitted', p_token => 'other'), 'stale ready', 'or with another token');

select testing.clock_passes('1 hour');
select testing.claim();
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "nothing helped"}'));
select is(
    testing.answer((testing.attempt()).ended_sha256, p_generation => testing.generation()),
    'ok ready duplicate', 'the call that ended an attempt is known as well'
);
alter role worker_1 rename to worker_3;
create role worker_1 login in role fencepost_worker;
select is(
    testing.answer((testing.attempt()).ended_sha256, p_generation => testing.generation()),
    'not_holder ready', 'but not to a new role of the same name'
);

select finish();
rollback;
