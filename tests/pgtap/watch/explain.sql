-- kernel.explain says in plain words why a campaign is where it is, and what would move it.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(44);

select testing.callable_by('kernel.explain', 'admin', 'auditor');

create function testing.explained(p_class text default 'fix', p_target text default 'parser')
    returns text
    language plpgsql
as $fn$
declare
    v_text text;
begin
    -- Whose ids are counted on differs from run to run.
    v_text := testing.act('auditor_1', format('select kernel.explain(%L, %s) as text', p_class,
                                              testing.id(p_target, p_class))) ->> 'text';
    return replace(v_text, 'Campaign ' || testing.id(p_target, p_class) || ' ', 'Campaign ID ');
end
$fn$;

-- == ready ========================================================================================

select testing.class('fix', '{"promotes": false, "backoff_base": "1 hour"}');
select testing.open();
select is(
    testing.explained(),
    'Campaign ID of target parser is ready since 2026-09-01 03:00:00+00: open, event 1, by '
    'sensor_1. A worker that has not judged it may claim it now.',
    'ready: who opened it, and who may take it'
);
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 1}'));
select is(
    testing.explained(),
    'Campaign ID of target parser is ready since 2026-09-01 03:00:00+00: open, event 1, by '
    'sensor_1. A worker that has not judged it may claim it now.',
    'an act within the state did not bring it there'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select matches(
    testing.explained(),
    '[.] The class is paused: nobody may claim it[.] kernel[.]resume lets it go on[.]$',
    'ready in a paused class'
);
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.claim();
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "the disk is full"}'));
select is(
    testing.explained(),
    'Campaign ID of target parser is ready since 2026-09-01 03:00:00+00: fail, event 4, by '
    'worker_1 (the disk is full). A worker that has not judged it may claim it from 2026-09-01 '
    '04:00:00+00. Of attempt_budget 5, 1 attempts came to nothing; the last: the disk is full',
    'ready after a failure: from when, how often it may still fail, and why it did'
);
select testing.clock_passes('1 hour');
select testing.class('seated', '{"seats": 1}');
select testing.leased('one', 'seated');
select testing.open('parser', 'seated');
select matches(
    testing.explained('seated'),
    '[.] All seats are taken, of which there are 1[.] A worker that has not judged it may claim it '
    'when one falls free[.]$',
    'ready without a free seat'
);
select testing.submit('one', 'seated');
select matches(
    testing.explained('seated'), '[.] A worker that has not judged it may claim it now[.]$',
    'ready with one'
);

-- == leased =======================================================================================

select testing.must('worker_1', $$ select * from kernel.claim(p_class => 'fix',
    p_token => testing.token('worker_1'), p_label => 'host 7', p_lease_for => '20 minutes') $$);
select is(
    testing.explained(),
    'Campaign ID of target parser is leased since 2026-09-01 04:00:00+00: claim, event 5, by '
    'worker_1. Worker worker_1 (host 7) holds it until 2026-09-01 04:20:00+00. It submits, fails '
    'or releases it; after that time the reaper takes it back. Of attempt_budget 5, 1 attempts '
    'came to nothing; the last: the disk is full',
    'leased: by whom, until when, and what then'
);
select testing.clock_passes('20 minutes');
select matches(
    testing.explained(), 'holds it until 2026-09-01 04:20:00[+]00, which is over[.] ',
    'leased, and it has run out'
);
select testing.must('worker_1', testing.holding('renew'));
select matches(
    testing.explained(), 'holds it until 2026-09-01 04:35:00[+]00[.] ', 'leased, and renewed'
);
select testing.submit();
select testing.must('worker_1', $$ select * from kernel.claim(p_class => 'seated',
    p_token => testing.token('worker_1')) $$);
select matches(testing.explained('seated'), 'Worker worker_1 [(]no label[)] holds it', 'no label');

-- == attempted ====================================================================================

select is(
    testing.explained(),
    'Campaign ID of target parser is attempted since 2026-09-01 04:20:00+00: submit, event 6, by '
    'worker_1. A verifier that has not worked on it may claim it now. Without a verdict it parks '
    'at 2026-09-08 04:20:00+00.',
    'attempted: who may judge it, and until when'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select matches(
    testing.explained(),
    '[.] The class is paused: nobody may claim it[.] kernel[.]resume lets it go on[.] All of its '
    'term begins anew then[.]$',
    'attempted in a paused class'
);
select testing.clock_passes('30 days');
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select matches(
    testing.explained(), 'Without a verdict it parks at 2026-10-08 04:20:00[+]00[.]$',
    'attempted in a class that was resumed: the term as it is reckoned now'
);
select testing.clock_is('2026-09-01 04:20+00');
select testing.claim_verification();
select testing.judge('unverifiable', p_reason => 'no network');
select matches(
    testing.explained(),
    'abstain, event 8, by verifier_1 [(]no network[)][.] A verifier that has not worked on it may '
    'claim it from 2026-09-01 05:20:00[+]00[.] ',
    'attempted after an abstention: from when'
);
select testing.clock_passes('1 hour');
select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'fix', 'p_principal', v.name, 'p_duty', 'verifier')))
from unnest(array['verifier_1', 'verifier_2']) as v (name);
select matches(
    testing.explained(),
    '[.] No verifier that is enrolled may judge it: each worked on it, or is not independent of '
    'who did[.] kernel[.]enrol another[.] Without a verdict it parks at ',
    'attempted, and nobody may judge it'
);
select testing.must('admin_1', testing.call('enrol', jsonb_build_object(
    'p_class', 'fix', 'p_principal', v.name, 'p_duty', 'verifier')))
from unnest(array['verifier_1', 'verifier_2']) as v (name);
select testing.class('limited', '{"verification_limit": 1, "seats": 1}');
select testing.verifying('one', 'limited');
select testing.attempted('parser', 'limited');
select matches(
    testing.explained('limited'),
    '[.] All seats are taken, of which there are 1[.] A verifier that has not worked on it may '
    'claim it when one falls free[.] ',
    'attempted, and as many are judged as may be'
);

-- == verifying ====================================================================================

select testing.claim_verification();
select is(
    testing.explained(),
    'Campaign ID of target parser is verifying since 2026-09-01 05:20:00+00: claim_verification, '
    'event 9, by verifier_1. Verifier verifier_1 (no label) holds it until 2026-09-01 05:35:00+00. '
    'It accepts, rejects or abstains; after that time the reaper takes it back.',
    'verifying: by whom, until when'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "fix"}'));
select matches(
    testing.explained(),
    ' The class is paused, and nothing is accepted; kernel[.]resume lets it[.]$',
    'verifying in a paused class'
);
select testing.must('admin_1', testing.call('resume', '{"p_class": "fix"}'));
select testing.clock_passes('15 minutes');
select matches(
    testing.explained(), '05:35:00[+]00, which is over[.] ', 'verifying, and it has run out'
);

-- == accepted and promoting =======================================================================

select testing.clock_is('2026-09-02 03:00+00');
select testing.promoting();
select is(
    testing.explained('ship'),
    'Campaign ID of target parser is promoting since 2026-09-02 03:00:00+00: accept, event 5, by '
    'verifier_1 (a test is red). Verifier verifier_1 (no label) holds it until 2026-09-02 '
    '03:15:00+00. It moves the target, or finds that it has moved on; after that time the reaper '
    'takes it back.',
    'promoting: by whom, until when'
);
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "ship"}'));
select is(
    testing.explained('ship'),
    'Campaign ID of target parser is accepted since 2026-09-02 03:15:00+00: lose_promotion, event '
    '6, by reaper_1 (the lease ran out). A verifier that has not worked on it may claim it now. '
    'Unless it is promoted it parks at 2026-09-03 03:00:00+00.',
    'accepted: who may promote it, and until when'
);
select testing.must('admin_1', testing.call('pause', '{"p_class": "ship"}'));
select testing.clock_passes('30 days');
select testing.must('admin_1', testing.call('resume', '{"p_class": "ship"}'));
select matches(
    testing.explained('ship'), 'Unless it is promoted it parks at 2026-10-03 03:15:00[+]00[.]$',
    'accepted in a class that was resumed: the term as it is reckoned now'
);
select testing.clock_is('2026-09-02 03:15+00');
select testing.must('admin_1', testing.call('dismiss', jsonb_build_object(
    'p_class', 'ship', 'p_principal', v.name, 'p_duty', 'verifier')))
from unnest(array['verifier_1', 'verifier_2']) as v (name);
select matches(
    testing.explained('ship'), 'No verifier that is enrolled may judge it',
    'accepted, and nobody may promote it'
);

-- == verified =====================================================================================

select testing.clock_is('2026-09-03 03:00+00');
select testing.class('seen');
select testing.target_in('parser', 'seen', '{"observe_every": "6 hours", "settle": "1 hour"}');
select testing.verified('parser', 'seen');
select is(
    testing.explained('seen'),
    'Campaign ID of target parser is verified since 2026-09-03 03:00:00+00: accept, event 5, by '
    'verifier_1 (a test is red). It waits for a scheduled observation begun from 2026-09-03 '
    '04:00:00+00 on: green confirms it, red sends it back. The next slot is at 2026-09-03 '
    '09:00:00+00.',
    'verified: which observation it waits for'
);

-- == parked =======================================================================================

select testing.class('spent', '{"attempt_budget": 1}');
select testing.leased('parser', 'spent');
select testing.must('worker_1', testing.holding('fail', '{"p_reason": "so"}', 'parser', 'spent'));
select is(
    testing.explained('spent'),
    'Campaign ID of target parser is parked since 2026-09-03 03:00:00+00: fail, event 3, by '
    'worker_1 (so). What ran out is attempt_budget, and it waits for a person: kernel.redrive or '
    'kernel.cancel, with generation 1. Of attempt_budget 1, 1 attempts came to nothing; the last: '
    'so',
    'parked: what ran out, why, and what a person calls'
);
select testing.open('aside', 'spent');
select testing.must('admin_1', testing.on_campaign(
    'park', '{"p_reason": "not before May"}', 'aside', 'spent'));
select is(
    testing.explained('spent', 'aside'),
    'Campaign ID of target aside is parked since 2026-09-03 03:00:00+00: park, event 2, by admin_1 '
    '(not before May). An admin has set it aside, and it waits for a person: kernel.redrive or '
    'kernel.cancel, with generation 1.',
    'parked by an admin'
);
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 3}', 'aside',
                                                   'spent'));
select matches(
    testing.explained('spent', 'aside'), ': park, event 2, by admin_1 [(]not before May[)][.] ',
    'and given a priority there'
);
select matches(
    testing.act('admin_1', testing.on_campaign('redrive', jsonb_build_object(
        'p_budgets', format('{%s}', (testing.campaign('parser', 'spent')).parked_for)), 'parser',
        'spent')) ->> 'state',
    'ready', 'what it names may be handed to redrive as it is'
);

-- == closed =======================================================================================

select testing.cancel('aside', 'spent');
select is(
    testing.explained('spent', 'aside'),
    'Campaign ID of target aside is cancelled since 2026-09-03 03:00:00+00: cancel, event 4, by '
    'admin_1. It was closed at 2026-09-03 03:00:00+00 and moves no more.',
    'cancelled'
);
select testing.clock_passes('6 hours');
select testing.observed(true, 'parser', 'seen');
select is(
    testing.explained('seen'),
    'Campaign ID of target parser is confirmed since 2026-09-03 09:00:00+00: confirm, event 6, by '
    'sensor_1. It was closed at 2026-09-03 09:00:00+00 and moves no more.',
    'confirmed'
);

-- == every state, and long reasons ================================================================

select testing.class('long', '{"backoff_base": "0"}');
select testing.leased('parser', 'long');
select testing.must('worker_1', testing.holding(
    'fail', jsonb_build_object('p_reason', repeat('x', 4096)), 'parser', 'long'));
select cmp_ok(length(testing.explained('long')), '<', 1400, 'quotes the first of a long reason');
select is(
    (select count(*) from ledger.campaign as c
     where testing.explained(c.class, c.target) is null
        or testing.explained(c.class, c.target) !~ ' is [a-z]+ since .*[.] [A-Z]'),
    0::bigint, 'says something of every campaign'
);
set local session authorization auditor_1;
set local timezone = 'Asia/Tokyo';
set local datestyle = 'German';
select matches(
    kernel.explain('seen', testing.id('parser', 'seen')), 'since 2026-09-03 09:00:00[+]00: ',
    'in UTC, whatever the session sets'
);
set local timezone = 'UTC';
set local datestyle = 'ISO';
reset session authorization;

-- == who may, and misuse ==========================================================================

set local session authorization admin_1;
select isnt(kernel.explain('seen', testing.id('parser', 'seen')), null, 'an admin may ask');
reset session authorization;
select is(
    kernel.explain('seen', testing.id('parser', 'seen')), null, 'a superuser is told nothing'
);
select is(kernel.explain('no-such-class', 1), null, 'whatever there is');
create role between_them;
grant fencepost_auditor to between_them;
grant between_them to stranger;
select testing.id('parser', 'seen') as id \gset
set local session authorization stranger;
select is(kernel.explain('seen', :id), null, 'nor is who is an auditor indirectly');
reset session authorization;
select testing.ledger_digest(true) as before \gset
set local session authorization auditor_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    ('select kernel.explain(null, 1)', 'KN101', 'a class'),
    ('select kernel.explain(''Fix'', 1)', 'KN102', 'the name of one'),
    ('select kernel.explain(''no-such-class'', 1)', 'KN106', 'one that there is'),
    ('select kernel.explain(''fix'', null)', 'KN101', 'a campaign'),
    ('select kernel.explain(''fix'', 123456789)', 'KN108', 'one that it has')
) as m (call, code, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');

select finish();
rollback;
