-- How an operation is named, found and locked, and why it could not be.
\ir ../_support/fixture.psql
\ir ../_support/helper.psql
\ir ../_support/call.psql
\ir ../_support/operation.psql
select plan(38);

select testing.allows_operations('fix');
select testing.posted('pending');

-- == require_operation ============================================================================

select lives_ok(
    $$ select ledger.require_operation('fix', 'k') $$, 'ledger.require_operation takes both'
);
select lives_ok(
    format('select ledger.require_operation(%L, %L)', 'fix', repeat('k', 512)), 'and a long key'
);
select testing.raises(
    format('select ledger.require_operation(%L, %L)', r.class, r.key), r.code, null,
    format('ledger.require_operation raises %s for %s', r.code, r.what)
)
from (values
    (null, 'k', 'KN101', 'no class'), ('Fix', 'k', 'KN102', 'a class of another form'),
    ('fix', null, 'KN101', 'no key'), ('fix', repeat('k', 513), 'KN103', 'too long a key')
) as r (class, key, code, what);

-- == operation_of =================================================================================

select is(
    ledger.operation_of('fix', 'pay-1'), testing.operation(), 'ledger.operation_of finds it'
);
select testing.raises(
    format('select ledger.operation_of(%L, %L)', o.class, o.key), 'KN116',
    format('class %s has no such operation', o.class),
    format('ledger.operation_of knows no %s in %s', o.key, o.class)
)
from (values ('fix', 'pay-2'), ('ship', 'pay-1'), ('fix', 'PAY-1')) as o (class, key);

-- == lock_operation ===============================================================================

create function testing.locked(
    p_principal name default 'worker_1',
    p_token     text default 'of worker_1',
    p_states    text default '{pending}',
    p_key       text default 'pay-1',
    p_class     text default 'fix'
)
    returns text
    language sql
as $fn$
    select testing.by(p_principal, format(
        'ledger.lock_operation(%L, %L, ledger.token_digest(%L), %L)',
        p_class, p_key, testing.token(p_token), p_states
    )) ->> 'operation_key'
$fn$;

select is(testing.locked(), 'pay-1', 'its owner locks it');
select is(testing.locked(p_states => '{unknown,pending}'), 'pay-1', 'in one of several states too');
select is(testing.locked(l.principal, l.token, l.states, l.key, l.class), null, l.what)
from (values
    ('worker_2'::name, 'of worker_1', '{pending}', 'pay-1', 'fix', 'another principal does not'),
    ('worker_1', 'another', '{pending}', 'pay-1', 'fix', 'nor with another token'),
    ('worker_1', 'of worker_1', '{unknown}', 'pay-1', 'fix', 'nor in another state'),
    ('worker_1', 'of worker_1', '{pending}', 'pay-2', 'fix', 'nor under another key'),
    ('worker_1', 'of worker_1', '{pending}', 'pay-1', 'ship', 'nor in another class')
) as l (principal, token, states, key, class, what);

-- == is_repeated_operation ========================================================================

create function testing.repeated(
    p_principal name  default 'worker_1',
    p_token     text  default 'of worker_1',
    p_content   bytea default null
)
    returns boolean
    language sql
as $fn$
    select testing.by(p_principal, format(
        'ledger.is_repeated_operation(%L, %L, ledger.token_digest(%L), %L)',
        'fix', 'pay-1', testing.token(p_token),
        coalesce(p_content, (select e.content_sha256 from ledger.operation_event as e
                             where e.operation_key = 'pay-1' and e.event = 'begin'))
    ))::boolean
$fn$;

select is(testing.repeated(), true, 'what began it is a repeat');
select testing.brought('completed', 'pay-1', 'fix', 'worker_1', 'of worker_1');
select is(testing.repeated(), true, 'however far the operation has moved since');
select is(testing.repeated('worker_2'), false, 'not of another principal');
select is(testing.repeated(p_token => 'another'), false, 'nor with another token');
select is(testing.repeated(p_content => '\xaa'), false, 'nor with another word');

-- == refuse_operation =============================================================================

create function testing.refusal(
    p_key       text,
    p_principal name default 'worker_1',
    p_token     text default 'of worker_1'
)
    returns text
    language sql
as $fn$
    select format('%s: %s', r.answer ->> 'outcome', r.answer ->> 'message')
    from (select testing.by(p_principal, format(
        'ledger.refuse_operation(%L, %L, %L, ledger.token_digest(%L))',
        'renew_operation', 'fix', p_key, testing.token(p_token)
    ))) as r (answer)
$fn$;

select testing.posted('pending', 'pay-2');
select testing.posted('unknown', 'pay-3');
select testing.posted('failed', 'pay-4');
select is(testing.refusal(r.key, r.principal, r.token), r.refusal, r.what)
from (values
    ('pay-1', 'worker_1'::name, 'of worker_1',
     'stale: renew_operation is not done to an operation that is completed',
     'ledger.refuse_operation: concluded, it is stale to its owner'),
    ('pay-4', 'worker_1', 'of worker_1',
     'stale: renew_operation is not done to an operation that is failed', 'failed too'),
    ('pay-2', 'worker_1', 'of worker_1',
     'illegal: renew_operation is not done to an operation that is pending',
     'open, the call is illegal'),
    ('pay-3', 'worker_1', 'of worker_1',
     'illegal: renew_operation is not done to an operation that is unknown', 'unknown too'),
    ('pay-2', 'worker_2', 'of worker_1',
     'not_holder: another principal or token owns the operation', 'another''s is not_holder'),
    ('pay-2', 'worker_1', 'another',
     'not_holder: another principal or token owns the operation', 'as is another token''s')
) as r (key, principal, token, refusal, what);

-- A released one is begun anew by another.
select testing.posted('released', 'pay-5');
select testing.must('worker_2', testing.posting(jsonb_build_object(
    'p_key', 'pay-5', 'p_operation_token', testing.token('of worker_2'))));
select is(
    testing.refusal('pay-5'), 'stale: another has taken the operation over',
    'taken over, it is stale to who had it'
);
select results_eq(
    $$ select r.function, r.outcome from testing.refusals('worker_2') as r $$,
    $$ values ('renew_operation', 'not_holder') $$, 'each is recorded'
);
select testing.raises(
    $$ select testing.refusal('none') $$, 'KN116', null, 'an unknown operation is misuse'
);

-- == does_operations ==============================================================================

select is(
    testing.by(d.principal, 'ledger.does_operations(''fix'')')::boolean, d.does,
    format('%s does operations: %s', d.principal, d.does)
)
from (values
    ('worker_1'::name, true), ('verifier_1', true), ('sensor_1', false), ('admin_1', false),
    ('reaper_1', false), ('worker_elsewhere', false), ('stranger', false)
) as d (principal, does);

select finish();
rollback;
