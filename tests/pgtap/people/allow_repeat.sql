-- kernel.allow_repeat lets a campaign submit an outcome again that is refused as repeated.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(50);

select testing.callable_by('kernel.allow_repeat', 'admin');

create function testing.allowing(
    p_fingerprint text,
    p_target text default 'parser',
    p_class text default 'fix',
    p_changes jsonb default '{}'
)
    returns text
    language sql
as $fn$
    select testing.on_campaign('allow_repeat', jsonb_build_object(
        'p_fingerprint', p_fingerprint, 'p_reason', 'the network was down') || p_changes,
        p_target, p_class)
$fn$;

create function testing.submitting(
    p_fingerprint text,
    p_target text default 'parser',
    p_class text default 'fix'
)
    returns text
    language sql
as $fn$
    select testing.holding('submit', jsonb_build_object(
        'p_fingerprint', p_fingerprint, 'p_approach', 'as before',
        'p_result', '{"base": "b", "commit": "c"}'), p_target, p_class)
$fn$;

create function testing.fails(
    p_fingerprint text,
    p_target text default 'parser',
    p_class text default 'fix'
)
    returns void
    language plpgsql
as $fn$
begin
    perform testing.claim(p_target, p_class);
    perform testing.must('worker_1', testing.holding('fail', jsonb_build_object(
        'p_reason', 'so', 'p_fingerprint', p_fingerprint), p_target, p_class));
    perform testing.clock_passes('1 hour');
end
$fn$;

-- == what it writes ===============================================================================

select testing.open();
select testing.fails('patch-1');
select testing.fails('patch-2');
select testing.claim();
set local session authorization worker_1;
select testing.refused(testing.submitting('patch-1'), 'repeated', 'an outcome that failed before');
reset session authorization;
select testing.campaign() as before \gset
set local session authorization admin_1;
select results_eq(
    testing.allowing('patch-1'),
    $$ select 'ok'::text, false, false, null::text, 'fix'::text, testing.id(),
              testing.generation(), 'leased'::text, (testing.campaign()).lease_expires_at,
              null::text $$,
    'answers ok; the campaign did not move'
);
reset session authorization;
select is(
    to_jsonb(testing.campaign())
        - array['event_count', 'last_transition', 'last_at', 'last_detail', 'last_content_sha256'],
    to_jsonb(:'before'::ledger.campaign)
        - array['event_count', 'last_transition', 'last_at', 'last_detail', 'last_content_sha256'],
    'changes nothing else of it: its holder keeps the lease'
);
select row_eq(
    $$ select a.class, a.campaign_id, a.fingerprint, a.reason, a.allowed_by, a.allowed_at
       from ledger.allowance as a $$,
    row('fix'::text, testing.id(), 'patch-1'::text, 'the network was down'::text,
        'admin_1'::name, testing.clock()),
    'records who allowed which outcome, and why'
);
select row_eq(
    $$ select e.transition, e.from_state, e.to_state, e.generation, e.by_principal, e.holder,
              e.detail
       from testing.event() as e $$,
    row('allow_repeat'::text, 'leased'::text, 'leased'::text, testing.generation(),
        'admin_1'::name, 'worker_1'::name,
        '{"fingerprint": "patch-1", "reason": "the network was down"}'::jsonb),
    'writes its event'
);

-- == what it allows ===============================================================================

select testing.as_if_committed();
set local session authorization worker_1;
select results_eq(
    format('select refused_fingerprints from (%s) as b', testing.holding('brief')),
    $$ values (array['patch-2']) $$, 'the brief does not list it as refused any more'
);
select testing.refused(
    testing.submitting('patch-2'), 'repeated', 'another outcome stays refused'
);
select results_eq(
    format('select outcome, state from (%s) as s', testing.submitting('patch-1')),
    $$ values ('ok'::text, 'attempted'::text) $$, 'the outcome is submitted again'
);
reset session authorization;
select testing.claim_verification();
select testing.judge('accepted');
select is(
    testing.state(), 'verified', 'and accepted: the judgement allows what the submission did'
);
select testing.clock_passes('1 day');
select is(
    testing.observed(false) ->> 'note', 'contradict', 'it may come to nothing once more'
);
select testing.clock_passes('1 hour');
select testing.claim();
set local session authorization worker_1;
select is(
    testing.act('worker_1', testing.submitting('patch-1')) ->> 'outcome', 'ok',
    'an outcome that is allowed stays so; the attempt budget ends what comes to nothing'
);
reset session authorization;

-- A fingerprint of the verifier's own, which differs from the worker's, is refused and allowed too.
select testing.class('own');
select testing.attempted('parser', 'own');
select testing.claim_verification('parser', 'own');
select testing.must('verifier_1', testing.judging(
    '{"p_verdict": "rejected", "p_reason": "red", "p_fingerprint": "patch-1-as-computed"}',
    'parser', 'own'));
select testing.clock_passes('1 hour');
select testing.claim('parser', 'own');
set local session authorization worker_1;
select testing.refused(
    testing.submitting('patch-1-as-computed', 'parser', 'own'), 'repeated',
    'an outcome is known by the verifier''s fingerprint as well'
);
select testing.must('admin_1', testing.allowing('patch-1-as-computed', 'parser', 'own'));
select testing.refused(
    testing.submitting('patch-1', 'parser', 'own'), 'repeated', 'allowing that one'
);
select is(
    testing.act('worker_1', testing.submitting('patch-1-as-computed', 'parser', 'own'))
        ->> 'outcome',
    'ok', 'allows that one alone'
);
reset session authorization;

-- Ahead of the failure, too.
select testing.class('ahead');
select testing.open('parser', 'ahead');
select testing.must('admin_1', testing.allowing('patch-1', 'parser', 'ahead'));
select testing.fails('patch-1', 'parser', 'ahead');
select testing.claim('parser', 'ahead');
select is(
    testing.act('worker_1', testing.submitting('patch-1', 'parser', 'ahead')) ->> 'outcome', 'ok',
    'what has not come to nothing yet may be allowed ahead'
);

-- == inherited ====================================================================================

select testing.class('line');
select testing.open('parser', 'line');
select testing.fails('patch-1', 'parser', 'line');
select testing.fails('patch-2', 'parser', 'line');
select testing.must('admin_1', testing.allowing('patch-1', 'parser', 'line'));
select testing.cancel('parser', 'line');
select testing.open('parser', 'line');
select testing.claim('parser', 'line');
set local session authorization worker_1;
select results_eq(
    format('select refused_fingerprints, previous_campaign_id is not null from (%s) as b',
           testing.holding('brief', '{}', 'parser', 'line')),
    $$ values (array['patch-2'], true) $$,
    'what was allowed in the campaign before is allowed in the one that inherits from it'
);
select testing.refused(
    testing.submitting('patch-2', 'parser', 'line'), 'repeated', 'what was refused is refused'
);
reset session authorization;
select testing.must('admin_1', testing.allowing('patch-2', 'parser', 'line'));
select is(
    testing.act('worker_1', testing.submitting('patch-2', 'parser', 'line')) ->> 'outcome', 'ok',
    'until it is allowed there: what was inherited may be'
);
select testing.class('apart', '{"reopen_within": "0"}');
select testing.open('parser', 'apart');
select testing.must('admin_1', testing.allowing('patch-1', 'parser', 'apart'));
select testing.cancel('parser', 'apart');
select testing.open('parser', 'apart');
select testing.fails('patch-1', 'parser', 'apart');
select testing.claim('parser', 'apart');
set local session authorization worker_1;
select testing.refused(
    testing.submitting('patch-1', 'parser', 'apart'), 'repeated',
    'a campaign that inherits nothing inherits no allowance'
);
reset session authorization;

-- == in every open state ==========================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
select is(
    testing.act('admin_1', testing.allowing('patch-9', 'parser', 'in_' || s.state))
        - array['lease_expires_at', 'campaign_id', 'class', 'generation', 'note', 'message'],
    jsonb_build_object('outcome', 'ok', 'duplicate', false, 'moved', false, 'state', s.state),
    format('is done in %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);

-- == repeated and refused =========================================================================

set local session authorization admin_1;
select testing.duplicate(
    testing.allowing('patch-9', 'parser', 'in_ready'), 'repeated is a duplicate and writes nothing'
);
select testing.duplicate(
    testing.allowing('patch-9', 'parser', 'in_ready', '{"p_reason": "another"}'),
    'also for another reason: it is allowed already'
);
select testing.allowing('patch-9', 'parser', 'in_ready') as again \gset
select testing.must('admin_1', testing.on_campaign('park', '{}', 'parser', 'in_ready'));
select testing.duplicate(:'again', 'also after the campaign has moved on');
select testing.must('admin_1', testing.on_campaign('cancel', '{}', 'parser', 'in_ready'));
select testing.duplicate(:'again', 'and after it was closed');
select testing.refused(
    testing.allowing('patch-9', 'parser', 'in_leased', '{"p_generation": 99}'), 'stale',
    'refuses a generation that the campaign does not have'
);
select testing.refused(
    testing.allowing('patch-9', 'parser', 'in_' || s.state), 'illegal',
    format('refuses in %s', s.state)
)
from unnest(array['confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;
select testing.refused(
    testing.allowing('patch-8', 'parser', 'in_leased'), 'forbidden', 'is forbidden to a superuser'
);
select testing.refused(
    testing.allowing('patch-8', 'parser', 'in_leased', '{"p_campaign_id": 123456789}'),
    'forbidden', 'also where there is no such campaign'
);

-- == misuse, and the table ========================================================================

select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(
    testing.allowing('patch-8', 'parser', 'in_leased', m.changes), m.code, m.message,
    'wants ' || m.what
)
from (values
    ('{"p_class": null}'::jsonb, 'KN101', 'argument p_class is null', 'a class'),
    ('{"p_campaign_id": null}', 'KN101', 'argument p_campaign_id is null', 'a campaign'),
    ('{"p_generation": null}', 'KN101', 'argument p_generation is null', 'a generation'),
    ('{"p_fingerprint": null}', 'KN101', 'argument p_fingerprint is null', 'a fingerprint'),
    ('{"p_fingerprint": " "}', 'KN102', 'argument p_fingerprint is empty', 'one that is not blank'),
    (jsonb_build_object('p_fingerprint', repeat('x', 201)), 'KN103', null, 'one of 200 bytes'),
    ('{"p_reason": null}', 'KN101', 'argument p_reason is null', 'a reason'),
    ('{"p_reason": ""}', 'KN102', 'argument p_reason is empty', 'one that says something'),
    (jsonb_build_object('p_reason', repeat('x', 4097)), 'KN103', null, 'in 4096 bytes'),
    ('{"p_campaign_id": 123456789}', 'KN108', null, 'a campaign that there is')
) as m (changes, code, message, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.allowing('patch-8', 'parser', 'in_leased'), 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
