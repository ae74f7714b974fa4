-- ledger.refuse_lease says why a call under a lease could not lock its campaign.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(16);

create function testing.refusal(
    p_principal  name   default 'worker_1',
    p_generation bigint default testing.generation(),
    p_token      text   default 'worker_1',
    p_function   text   default 'submit',
    p_class      text   default 'fix'
)
    returns text
    language sql
as $fn$
    select format('%s: %s', r.receipt ->> 'outcome', r.receipt ->> 'message')
    from (select testing.by(p_principal, format(
        'ledger.refuse_lease(%L, %L, %s, %s, ledger.token_digest(%L))',
        p_function, p_class, testing.id('parser', p_class), p_generation, testing.token(p_token)
    ))) as r (receipt)
$fn$;

-- == nobody ever held it ==========================================================================

select testing.open();
select is(
    testing.refusal(), 'illegal: submit is not done in state ready', 'illegal where nobody has it'
);
select is(
    testing.refusal(p_generation => 7),
    'stale: generation 7 is not the campaign''s present one, 0', 'stale under another generation'
);

-- == somebody holds it ============================================================================

select testing.claim();
select is(
    testing.refusal(p_generation => 0),
    'stale: generation 0 is not the campaign''s present one, 1', 'stale under the one before'
);
select is(
    testing.refusal(p_function => 'judge'), 'illegal: judge is not done in state leased',
    'illegal where it is the caller''s, for another act'
);
select is(
    testing.refusal('worker_2'), 'not_holder: another principal or token holds this generation',
    'not_holder to another principal'
);
select is(
    testing.refusal(p_token => 'worker_2'),
    'not_holder: another principal or token holds this generation', 'and with another token'
);

-- == somebody held it =============================================================================

select testing.submit();
select is(
    testing.refusal(), 'stale: generation 1 has already ended in another way',
    'stale to who submitted'
);
select is(
    testing.refusal('worker_2'), 'not_holder: another principal or token held this generation',
    'not_holder to who did not'
);
select is(
    testing.refusal(p_token => 'worker_2'),
    'not_holder: another principal or token held this generation', 'or did with another token'
);
select testing.claim_verification();
select testing.judge('rejected');
select is(
    testing.refusal('verifier_1', p_token => 'verifier_1', p_function => 'judge'),
    'stale: generation 2 has already ended in another way', 'stale to who judged'
);
select is(
    testing.refusal('verifier_2', p_token => 'verifier_1', p_function => 'judge'),
    'not_holder: another principal or token held this generation', 'not_holder to another verifier'
);
select testing.promoting();
select testing.moved();
select testing.must('verifier_1', testing.promotion());
select is(
    testing.refusal('verifier_1', testing.generation('parser', 'ship'), 'verifier_1', 'promote',
                    'ship'),
    'stale: generation 2 has already ended in another way', 'stale to who promoted'
);

-- == what is recorded =============================================================================

select is(count(*), 7::bigint, 'each is recorded, in the name of who called')
from testing.refusals('worker_1');
select results_eq(
    $$ select r.function, r.outcome, r.class, r.campaign_id, r.generation
       from testing.refusals('worker_2') as r limit 1 $$,
    $$ values ('submit', 'not_holder', 'fix', testing.id(), 1::bigint) $$,
    'with the generation that was named'
);
select is(
    testing.by('worker_2', format(
        'ledger.refuse_lease(%L, %L, %s, 0, null)', 'submit', 'fix', testing.id()
    )) - '{message,note,duplicate,moved,lease_expires_at}'::text[],
    jsonb_build_object('outcome', 'stale', 'class', 'fix', 'campaign_id', testing.id(),
                       'generation', testing.generation(), 'state', 'ready'),
    'the answer tells the present one, and the state'
);
select testing.raises(
    $$ select testing.by('worker_1', 'ledger.refuse_lease(''submit'', ''fix'', 0, 1, null)') $$,
    'KN108', 'class fix has no campaign 0', 'an unknown campaign is misuse'
);

select finish();
rollback;
