-- ledger.held_lease answers a claim that was made before with the same token.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
select plan(14);

create function testing.held(
    p_principal name,
    p_token     text    default 'worker_1',
    p_function  text    default 'claim',
    p_states    text    default '{leased}',
    p_class     text    default 'fix',
    p_granted   text    default null
)
    returns jsonb
    language sql
as $fn$
    select testing.by(p_principal, format(
        '(select jsonb_agg(h) -> 0 from ledger.held_lease(
            %L, ledger.known_class(%L), ledger.token_digest(%L), %L, %L) as h)',
        p_function, p_class, testing.token(p_token), p_states, p_granted
    ))
$fn$;

select testing.leased();
select is(testing.held('worker_1', 'another'), null, 'to a new token there is no answer');
select is(
    testing.held('worker_1', p_class => 'ship'), null, 'nor to one that is held in another class'
);
select is(
    testing.held('worker_1'),
    jsonb_build_object(
        'outcome', 'ok', 'duplicate', true, 'moved', false, 'note', null, 'class', 'fix',
        'campaign_id', testing.id(), 'generation', 1, 'state', 'leased',
        'lease_expires_at', timestamptz '2026-09-01 03:15+00', 'message', null, 'attempt_no', 1,
        'attempt_limit', interval '1 hour', 'lease_cap_at', timestamptz '2026-09-02 03:00+00'
    ),
    'to the holder''s it is the lease as it stands'
);
select is(count(r), 0::bigint, 'and no refusal') from testing.refusals('worker_1') as r;
select testing.clock_passes('1 hour');
select is(
    testing.held('worker_1') ->> 'lease_expires_at', '2026-09-01T03:15:00+00:00',
    'also where it has run out and nobody has taken it'
);

select is(
    testing.held(h.principal, p_function => h.function, p_states => h.states) ->> 'outcome',
    'not_holder', h.description
)
from (values
    ('worker_2'::name, 'claim', '{leased}', 'to another principal it is not_holder'),
    ('worker_1', 'claim', '{verifying}', 'as where the lease is not in such a state'),
    ('worker_1', 'claim_verification', '{leased}', 'or was not granted by such a claim')
) as h (principal, function, states, description);
select results_eq(
    $$ select r.function, r.outcome, r.campaign_id from testing.refusals('worker_2') as r $$,
    $$ values ('claim', 'not_holder', null::bigint) $$,
    'which is recorded, and does not tell whose lease it is'
);
-- A verifier whom its acceptance lets promote holds a lease that claim_verification granted.
select testing.promoting();
select is(
    testing.held('verifier_1', 'verifier_1', 'claim_verification', '{verifying,promoting}', 'ship')
        ->> 'state', 'promoting',
    'a verification that goes on to promoting is the lease that its claim granted'
);
select is(
    testing.held('verifier_1', 'verifier_1', 'claim_promotion', '{promoting}', 'ship')
        ->> 'outcome', 'not_holder', 'and not one of a claim of promotions'
);
select is(
    testing.held('verifier_1', 'verifier_1', 'any', '{promoting}', 'ship', 'claim_verification')
        ->> 'duplicate', 'true', 'the move that grants it may have a name of its own'
);

alter role worker_1 rename to worker_3;
select is(
    testing.held('worker_3') ->> 'outcome', 'not_holder', 'nor does its holder under another name'
);
create role worker_1 login in role fencepost_worker;
select is(
    testing.held('worker_1') ->> 'outcome', 'not_holder', 'a new role does not hold what one of its name held'
);

select finish();
rollback;
