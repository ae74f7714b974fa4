-- kernel.pause stops a class: nothing is claimed or accepted, all that is under way finishes.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(66);

select testing.callable_by('kernel.pause', 'admin');

create function testing.claims(p_function text, p_class text, p_principal name, p_token uuid)
    returns text
    language sql
as $fn$
    select coalesce(testing.act(p_principal, testing.call(p_function, jsonb_build_object(
        'p_class', p_class, 'p_token', p_token))) ->> 'outcome', 'no row')
$fn$;

-- In each class a campaign in that state.
select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select testing.moved('parser', 'in_promoting');
select testing.class('solo', '{"loss_budget": 1, "verification_loss_budget": 1,
                               "promotion_loss_budget": 1, "promotes": true}');

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.pause(p_class => 'fix', p_reason => 'the tests are being moved') $$,
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok, with the class'
);
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.at, e.before, e.after
       from testing.config('pause') as e $$,
    row('fix'::text, 'fix'::text, 'admin_1'::name, testing.clock(), '{"is_paused": false}'::jsonb,
        '{"is_paused": true, "reason": "the tests are being moved"}'::jsonb),
    'records who paused it, and why'
);
select testing.duplicate(
    $$ select * from kernel.pause(p_class => 'fix', p_reason => 'another') $$,
    'repeated, be it for another reason, is a duplicate and writes nothing'
);
select lives_ok(
    format('select * from kernel.pause(p_class => %L)', 'in_' || s.state),
    format('pauses a class with a campaign %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select is(
    testing.state('parser', 'in_' || s.state), s.state, format('and leaves it %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
reset session authorization;

-- == nothing is claimed ===========================================================================

select testing.clock_passes('5 minutes');
select testing.ledger_digest(true) as before \gset
select is(
    testing.claims(c.function, c.class, c.principal, gen_random_uuid()), 'no row',
    format('%s gives no row', c.function)
)
from (values
    ('claim', 'in_ready', 'worker_1'),
    ('claim_verification', 'in_attempted', 'verifier_2'),
    ('claim_promotion', 'in_accepted', 'verifier_2')
) as c (function, class, principal);
set local session authorization worker_1;
select is_empty(
    $$ select * from kernel.claim_many(p_class => 'in_ready',
                                       p_tokens => array[gen_random_uuid(), gen_random_uuid()]) $$,
    'claim_many gives no row'
);
select is(kernel.next_due('in_ready'), null, 'and a worker is not told that something is due');
set local session authorization verifier_1;
select is(kernel.next_due('in_attempted'), null, 'nor a verifier');
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'that is no refusal, and nothing is written');

-- == what is held is kept =========================================================================

select is(
    testing.claims(c.function, c.class, c.principal, testing.token(c.principal)), 'ok',
    format('%s repeated returns the lease that is held', c.function)
)
from (values
    ('claim', 'in_leased', 'worker_1'),
    ('claim_verification', 'in_verifying', 'verifier_1'),
    ('claim_verification', 'in_promoting', 'verifier_1')
) as c (function, class, principal);
select is(
    testing.act(h.principal, testing.holding('renew', '{"p_lease_for": "1 hour"}', 'parser',
                                             h.class)) ->> 'outcome',
    'ok', format('a lease in state %s is renewed', testing.state('parser', h.class))
)
from (values ('worker_1', 'in_leased'), ('verifier_1', 'in_verifying'),
             ('verifier_1', 'in_promoting')) as h (principal, class);
select testing.as_if_committed();
select is(
    testing.act(h.principal, testing.holding(h.function, '{}', 'parser', h.class)) ->> 'outcome',
    'ok', format('%s shows what is held', h.function)
)
from (values ('worker_1', 'brief', 'in_leased'), ('verifier_1', 'bundle', 'in_verifying'))
    as h (principal, function, class);

-- == nothing is accepted ==========================================================================

set local session authorization verifier_1;
select testing.refused(
    testing.judging('{}', 'parser', 'in_verifying'), 'paused', 'an acceptance is answered "paused"'
);
select testing.refused(
    testing.judging('{"p_fingerprint": "another"}', 'parser', 'in_verifying'), 'bundle_mismatch',
    'one that would be refused anyhow is answered why'
);
reset session authorization;
select results_eq(
    $$ select c.state, c.lease_principal from testing.campaign('parser', 'in_verifying') as c $$,
    $$ values ('verifying'::text, 'verifier_1'::name) $$, 'and the verifier keeps its lease'
);

-- == all that is under way finishes ===============================================================

create function testing.finishes(
    p_from text, p_principal name, p_call text, p_to text, p_class text, p_what text
)
    returns text
    language plpgsql
as $fn$
declare
    v_answer jsonb := testing.act(p_principal, p_call);
begin
    return is(
        concat(p_from, ': ', v_answer ->> 'outcome', ', ', testing.state('parser', p_class)),
        concat(p_from, ': ok, ', p_to), p_what
    );
end
$fn$;

select testing.finishes('verifying', 'verifier_1', testing.judging(
    '{"p_verdict": "unverifiable", "p_reason": "no network"}', 'parser', 'in_verifying'),
    'attempted', 'in_verifying', 'an abstention is recorded');
select testing.finishes('promoting', 'verifier_1', testing.promotion('{}', 'parser',
    'in_promoting'), 'verified', 'in_promoting', 'a promotion is recorded');
select testing.clock_passes('1 day');
select is(
    testing.observed(true, 'parser', 'in_promoting') ->> 'note', 'confirm',
    'an observation confirms'
);
select is(
    testing.observed(false, 'parser', 'in_verified') ->> 'note', 'contradict', 'or contradicts'
);
select is(testing.observed(true, 'parser', 'in_ready') ->> 'note', 'lapse', 'or lapses');
select is(testing.observed(false, 'parser', 'in_ready') ->> 'note', 'open', 'or opens');
select is(
    testing.act('admin_1', a.call) ->> 'outcome', 'ok', format('an admin may %s', a.act)
)
from (values
    (1, 'set the priority', testing.on_campaign('set_priority', '{"p_priority": 1}', 'parser',
                                                'in_attempted')),
    (2, 'park', testing.on_campaign('park', '{}', 'parser', 'in_attempted')),
    (3, 'redrive', testing.on_campaign('redrive', '{}', 'parser', 'in_parked')),
    (4, 'cancel', testing.on_campaign('cancel', '{}', 'parser', 'in_ready'))
) as a (place, act, call) order by a.place;

-- The rest in a class of its own: submitted, failed, released, rejected, outdated.
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.leased();
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select testing.finishes('leased', 'worker_1', testing.holding('release'), 'ready', 'fix',
                        'a lease is given back');
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.claim();
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select testing.finishes('leased', 'worker_1', testing.holding('fail', '{"p_reason": "so"}'),
                        'ready', 'fix', 'a failure is recorded');
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.clock_passes('1 minute');
select testing.claim();
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select testing.finishes('leased', 'worker_1', testing.holding('submit',
    '{"p_fingerprint": "patch-1", "p_approach": "so", "p_result": {}}'),
    'attempted', 'fix', 'a result is submitted');
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.claim_verification();
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select testing.finishes('verifying', 'verifier_1', testing.judging(
    '{"p_verdict": "rejected", "p_exit_code": 2, "p_reason": "red"}'), 'ready', 'fix',
    'a rejection is recorded');
select testing.promoting('parser', 'ship');
select testing.must('admin_1', testing.call('pause', '{"p_class": "ship"}'));
select testing.finishes('promoting', 'verifier_1', testing.holding(
    'outdate', '{"p_reason": "somebody else pushed"}', 'parser', 'ship'), 'ready', 'ship',
    'what is outdated is recorded');

-- == losses are not counted =======================================================================

create function testing.loses(p_class text)
    returns text
    language plpgsql
as $fn$
begin
    perform testing.must('admin_1', format('select * from kernel.pause(p_class => %L)', p_class));
    perform testing.clock_passes('15 minutes');
    perform testing.must('reaper_1', format('select * from kernel.reap(p_class => %L)', p_class));
    perform testing.must('admin_1', format('select * from kernel.resume(p_class => %L)', p_class));
    return (
        select format('%s, losses %s, %s, %s', c.state, c.loss_count, c.verification_loss_count,
                      c.promotion_loss_count)
        from testing.campaign('parser', p_class) as c
    );
end
$fn$;

select testing.leased('parser', 'solo');
select is(
    testing.loses('solo'), 'ready, losses 0, 0, 0', 'a lost lease is taken back and not counted'
);
select testing.claim('parser', 'solo');
select testing.submit('parser', 'solo');
select testing.claim_verification('parser', 'solo');
select is(
    testing.loses('solo'), 'attempted, losses 0, 0, 0', 'nor is a lost verification'
);
select testing.claim_verification('parser', 'solo');
select testing.judge('accepted', 'parser', 'solo');
select is(testing.loses('solo'), 'accepted, losses 0, 0, 0', 'nor a lost promotion');

-- == other classes go on ==========================================================================

select testing.leased('another', 'ship_too') from (select testing.class('ship_too')) as made;
select is(testing.state('another', 'ship_too'), 'leased', 'other classes go on');

-- == who may, and misuse ==========================================================================

select testing.refused(
    $$ select * from kernel.pause(p_class => 'ship_too') $$, 'forbidden',
    'is forbidden to a superuser'
);
select testing.refused(
    $$ select * from kernel.pause(p_class => 'no-such-class') $$, 'forbidden',
    'whatever there is'
);
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(c.call, c.code, null, 'wants ' || c.what)
from (values
    ('select * from kernel.pause(p_class => null)', 'KN101', 'a class'),
    ('select * from kernel.pause(p_class => ''Fix'')', 'KN102', 'the name of one'),
    ('select * from kernel.pause(p_class => ''no-such-class'')', 'KN106', 'one that there is'),
    ('select * from kernel.pause(p_class => ''ship_too'', p_reason => '' '')', 'KN102',
     'a reason that says something'),
    (format('select * from kernel.pause(p_class => ''ship_too'', p_reason => %L)',
            repeat('x', 4097)), 'KN103', 'one of 4096 bytes at most')
) as c (call, code, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.pause(p_class => 'ship_too') $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
