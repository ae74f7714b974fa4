-- kernel.check finds what was changed, removed or added behind the kernel's back, and nothing else.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(119);

select testing.callable_by('kernel.check', 'auditor');

-- == nothing in a healthy ledger ==================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);

-- One campaign that has been everywhere, and others to be changed below.
select testing.class('fix', '{"backoff_base": "0", "loss_budget": 100, "attempt_budget": 100}');
select testing.open();
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 2}'));
select testing.claim();
select testing.must('worker_1', testing.holding('release', '{"p_reason": "no time"}'));
select testing.claim();
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "so", "p_approach": "thus", "p_fingerprint": "patch-0"}'));
select testing.claim();
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "fix"}'));
select testing.claim();
select testing.must('worker_1', testing.holding('renew', '{"p_lease_for": "1 hour"}'));
select testing.submit();
select testing.claim_verification();
select testing.judge('unverifiable');
select testing.claim_verification(p_verifier => 'verifier_2');
select testing.judge('rejected', p_verifier => 'verifier_2');
select testing.must('admin_1', testing.on_campaign(
    'allow_repeat', '{"p_fingerprint": "patch-1", "p_reason": "why not"}'));
select testing.claim();
select testing.submit();
select testing.claim_verification();
select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', '{"p_class": "fix"}'));
select testing.must('admin_1', testing.on_campaign('park', '{"p_reason": "wait"}'));
select testing.must('admin_1', testing.on_campaign('redrive'));
select testing.claim_verification();
select testing.judge('accepted');
select testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
    'p_class', 'fix', 'p_token', testing.token('lost'))));
select testing.clock_passes('1 day');
select testing.observed(false, p_summary => 'red again');
select testing.claim(p_worker => 'worker_2');
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 3}'));

select testing.confirmed('done');
select testing.cancelled('gone');
select testing.open('reopened');
select testing.must('admin_1', testing.on_campaign(
    'set_priority', '{"p_priority": 3}', 'reopened'));
select testing.claim('reopened', p_token => testing.token('reopened'));
select testing.must('worker_1', testing.holding('fail', jsonb_build_object(
    'p_reason', 'so', 'p_token', testing.token('reopened')), 'reopened'));
select testing.cancel('reopened');
select testing.open('reopened');
-- Inherits like it, and has the inherited failure forgiven.
select testing.open('forgiven');
select testing.must('admin_1', testing.on_campaign(
    'set_priority', '{"p_priority": 3}', 'forgiven'));
select testing.claim('forgiven', p_token => testing.token('forgiven'));
select testing.must('worker_1', testing.holding('fail', jsonb_build_object(
    'p_reason', 'so', 'p_token', testing.token('forgiven')), 'forgiven'));
select testing.cancel('forgiven');
select testing.open('forgiven');
select testing.must('admin_1', testing.on_campaign('park', '{}', 'forgiven'));
select testing.must('admin_1', testing.on_campaign(
    'redrive', '{"p_budgets": "{attempt}"}', 'forgiven'));
select testing.parked('aside');
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 1}', 'aside'));

set local session authorization auditor_1;
select is_empty(
    format('select * from kernel.check(p_class => %L)', c.class),
    format('finds nothing in class %s as its functions left it', c.class)
)
from kernel.classes() as c (class) order by c.class;
reset session authorization;

select testing.as_if_committed_each();
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
select testing.open('later');
select testing.must('admin_1', testing.on_campaign('set_priority', '{"p_priority": 3}', 'later'));
select testing.claim('later');
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
set local session authorization auditor_1;
select is_empty($$ select * from kernel.check(p_class => 'fix') $$, 'nor after checkpoints');
set local timezone = 'Asia/Kolkata';
set local datestyle = 'German';
select is_empty(
    $$ select * from kernel.check(p_class => 'fix') $$, 'nor with other settings of the session'
);
set local timezone = 'UTC';
set local datestyle = 'ISO';
reset session authorization;
select testing.ledger_digest(true) as before \gset

-- == a row changed ================================================================================

select is(
    testing.found('ledger.campaign', format(
        'update ledger.campaign set %s where class = ''fix'' and target = %L and closed_at is %s',
        t.change, t.target, case when t.target = 'done' then 'not null' else 'null' end)),
    t.expected, format('a row of which one did: %s', t.change)
)
from (values
    ('parser', 'generation = generation + 1', 'campaign'),
    ('parser', 'generation = 0', 'campaign'),
    ('parser', 'event_count = event_count + 1', 'campaign'),
    ('parser', 'attempt_count = attempt_count - 1', 'campaign'),
    ('parser', 'failure_count = 0', 'campaign'),
    ('parser', 'release_count = release_count + 1', 'campaign'),
    ('reopened', 'failure_count = 0', 'campaign'),
    ('parser', 'priority = 0', 'campaign'),
    ('parser', 'next_attempt_at = next_attempt_at - interval ''1 s''', 'campaign'),
    ('parser', 'opened_at = opened_at - interval ''1 s''', 'campaign'),
    ('parser', 'opened_by = ''admin_1''', 'campaign'),
    ('parser', 'target = ''done''', 'campaign'),
    ('parser', 'acceptance = ''{"command": ["true"]}''', 'campaign'),
    ('parser', 'desired_state = ''{}''', 'campaign'),
    ('parser', 'promotes = true', 'campaign'),
    ('parser', 'separate_family = true', 'campaign'),
    ('parser', 'needs_evidence = true', 'campaign'),
    ('parser', 'opening_observation_no = 99', 'campaign'),
    ('reopened', 'previous_campaign_id = null', 'campaign'),
    ('parser', 'lease_principal = ''worker_1''', 'campaign'),
    ('parser', 'last_transition = ''claim''', 'campaign'),
    ('parser', 'last_at = last_at + interval ''1 s''', 'campaign'),
    ('parser', 'last_detail = ''{}''', 'campaign'),
    ('parser', 'last_content_sha256 = ''\x01''', 'campaign'),
    ('aside', 'parked_for = ''loss_budget''', 'campaign'),
    ('aside', 'state = ''ready'', parked_for = null', 'campaign'),
    ('done', 'state = ''cancelled''', 'campaign'),
    ('done', 'closed_at = closed_at - interval ''1 day''', 'campaign'),
    -- What no event says: a renewal, and whether a loss was counted.
    ('parser', 'lease_expires_at = lease_expires_at + interval ''1 day''', 'nothing'),
    ('parser', 'loss_count = 0', 'nothing')
) as t (target, change, expected);
select is(
    testing.found('ledger.campaign',
                  $$ delete from ledger.campaign where class = 'fix' and target = 'done' $$),
    'campaign', 'a row that is gone'
);
select is(
    testing.found('ledger.campaign', $$
        insert into ledger.campaign overriding system value
        select (jsonb_populate_record(c, '{"campaign_id": 900000, "target": "new",
                                           "lease_token_sha256": "\\x02"}')).*
        from ledger.campaign as c where c.class = 'fix' and c.target = 'parser' $$),
    'campaign', 'a row that was added'
);

-- == an event changed =============================================================================

create function testing.with_event(p_no integer, p_change text)
    returns text
    language sql
as $fn$
    select testing.found('ledger.campaign_event', format(
        'update ledger.campaign_event set %s where class = ''fix'' and campaign_id = %s '
        'and event_no = %s', p_change, testing.id(), p_no))
$fn$;

comment on function testing.with_event(integer, text) is
    'What is found after that change of an event of "parser", whose fifth is a claim.';

select is(
    testing.with_event(5, t.change), t.expected, format('an event of which one did: %s', t.change)
)
from (values
    ('transition = ''claim_promotion''', 'attempt, campaign, checkpoint, event'),
    ('from_state = ''parked''', 'campaign, checkpoint, event'),
    ('to_state = ''parked''', 'campaign, checkpoint, event'),
    ('generation = generation + 1', 'attempt, checkpoint, event'),
    ('by_principal = ''worker_2''', 'attempt, checkpoint'),
    ('holder = ''worker_2''', 'checkpoint'),
    ('is_late = true', 'checkpoint'),
    ('next_attempt_at = next_attempt_at + interval ''1 microsecond''', 'checkpoint'),
    ('at = at + interval ''1 microsecond''', 'attempt, checkpoint'),
    ('detail = detail || ''{"label": "x"}''', 'checkpoint'),
    ('detail = null', 'checkpoint'),
    ('content_sha256 = ''\x01''', 'checkpoint'),
    ('epoch = 1', 'checkpoint'),
    ('xid = ((xid::text)::bigint + 1)::text::xid8', 'checkpoint'),
    ('xid = ''900000000000''', 'checkpoint'),
    ('event_no = 100', 'campaign, checkpoint, event'),
    ('campaign_id = 100000', 'attempt, campaign, checkpoint, event')
) as t (change, expected);
select is(
    testing.with_event(1, 'content_sha256 = null'), 'campaign, checkpoint',
    'the event of an opening without its digest'
);

select is(
    testing.with_event(4, 'to_state = ''parked'''), 'checkpoint, event',
    'an event that leads elsewhere, by a move that there is'
);
-- "reopened" has but one event.
select is(
    testing.found('ledger.campaign_event', format(
        'update ledger.campaign_event set %s where class = ''fix'' and campaign_id = %s',
        t.change, testing.id('reopened'))),
    t.expected, format('a first event of which one did: %s', t.change)
)
from (values
    ('generation = 5', 'checkpoint, event'),
    ('transition = ''set_priority'', from_state = ''ready''', 'campaign, checkpoint, event')
) as t (change, expected);

-- == an event removed or added ====================================================================

create function testing.without_event(p_which text)
    returns text
    language sql
as $fn$
    select testing.found('ledger.campaign_event', format(
        'delete from ledger.campaign_event where class = ''fix'' and campaign_id = %s %s',
        testing.id(), p_which))
$fn$;

select is(testing.without_event(t.which), t.expected, t.what)
from (values
    (1, 'and event_no = 1', 'campaign, checkpoint, event', 'the first event removed'),
    (2, 'and transition = ''release''', 'attempt, campaign, checkpoint, event',
     'one in the middle removed'),
    (3, 'and transition = ''set_priority'' and event_no = 2', 'campaign, checkpoint, event',
     'one that moved nothing removed'),
    (4, format('and event_no = %s', (testing.event()).event_no), 'campaign, checkpoint',
     'the last one removed'),
    (5, '', 'attempt, campaign, checkpoint, verdict', 'all of a campaign removed')
) as t (place, which, expected, what) order by t.place;
select is(
    testing.found('ledger.campaign_event', $$
        insert into ledger.campaign_event
        select (jsonb_populate_record(e, jsonb_build_object('event_no', e.event_no + 1))).*
        from ledger.campaign_event as e
        where e.class = 'fix' and e.campaign_id = testing.id('later') and e.event_no = 3 $$),
    'campaign, event', 'one added at the end'
);
select is(
    testing.found('ledger.campaign_event', $$
        insert into ledger.campaign_event
        select (jsonb_populate_record(e, '{"campaign_id": 900000, "xid": "7"}')).*
        from ledger.campaign_event as e
        where e.class = 'fix' and e.campaign_id = testing.id('later') and e.event_no = 1 $$),
    'campaign, checkpoint', 'one added before a checkpoint'
);
-- A life that never was, consistent in itself: only that it is in no checkpoint is against it.
select is(
    testing.found('ledger.campaign_event', $$
        delete from ledger.campaign_event as e
        where e.class = 'fix'
          and e.campaign_id = (select max(c.campaign_id) from ledger.campaign as c
                               where c.class = 'fix' and c.target = 'gone');
        set constraints all immediate;
        alter table ledger.campaign disable trigger all;
        delete from ledger.campaign as c where c.class = 'fix' and c.target = 'gone' $$),
    'checkpoint', 'a campaign removed with all that it had'
);

-- == what was submitted and judged ================================================================

select is(
    testing.found(t.relation::regclass, format('update %s set %s where class = ''fix'' and %s',
                                               t.relation, t.change, t.which)),
    t.expected, format('%s: %s', t.relation, t.change)
)
from (values
    ('ledger.attempt', 'fingerprint = ''patch-9''', 'submitted_at is not null', 'attempt'),
    ('ledger.attempt', 'result = ''{"commit": "mine"}''', 'submitted_at is not null', 'attempt'),
    ('ledger.attempt', 'approach = ''another''', 'submitted_at is not null', 'attempt'),
    ('ledger.attempt', 'evidence_uri = ''file:///mine''', 'submitted_at is not null', 'attempt'),
    ('ledger.attempt', 'principal = ''worker_2''', 'attempt_no = 1', 'attempt'),
    ('ledger.attempt', 'begun_at = begun_at - interval ''1 s''', 'attempt_no = 1', 'attempt'),
    ('ledger.attempt', 'reason = ''another''', 'ending = ''failed''', 'attempt'),
    ('ledger.attempt', 'fingerprint = null', 'ending = ''failed''', 'attempt'),
    ('ledger.attempt', 'reason = ''another''', 'ending = ''released''', 'attempt'),
    ('ledger.bundle', 'content = content || ''{"target": "mine"}''', 'true', 'bundle'),
    ('ledger.bundle', 'sha256 = sha256(''mine'')', 'true', 'bundle, verdict'),
    ('ledger.verdict', 'verdict = ''rejected'', reason = ''mine''', 'verdict = ''accepted''',
     'verdict'),
    ('ledger.verdict', 'exit_code = 1', 'verdict = ''rejected''', 'verdict'),
    ('ledger.verdict', 'principal = ''verifier_1''', 'principal = ''verifier_2''', 'verdict'),
    ('ledger.verdict', 'evidence_uri = ''file:///mine''', 'verdict = ''accepted''', 'verdict')
) as t (relation, change, which, expected);
select is(
    testing.found('ledger.attempt', 'delete from ledger.attempt where class = ''fix'''),
    'attempt', 'attempts that are gone'
);
select is(
    testing.found('ledger.verdict', 'delete from ledger.verdict where class = ''fix'''),
    'verdict', 'verdicts that are gone'
);

-- == a checkpoint =================================================================================

select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
select is(
    testing.found('ledger.checkpoint', t.statement || ' and class = ''fix'''), t.expected,
    format('a checkpoint: %s', t.statement)
)
from (values
    ('update ledger.checkpoint set event_count = event_count + 1 where checkpoint_no = 1',
     'checkpoint'),
    ('update ledger.checkpoint set made_by = ''auditor_2'' where checkpoint_no = 2', 'checkpoint'),
    ('update ledger.checkpoint set made_at = made_at - interval ''1 s'' where checkpoint_no = 2',
     'checkpoint'),
    ('update ledger.checkpoint set upto_xid = ''7'' where checkpoint_no = 1', 'checkpoint'),
    ('update ledger.checkpoint set sha256 = sha256(''mine'') where checkpoint_no = 1',
     'checkpoint'),
    ('update ledger.checkpoint set events_sha256 = sha256(''mine'') where checkpoint_no = 1',
     'checkpoint'),
    ('delete from ledger.checkpoint where checkpoint_no = 1', 'checkpoint'),
    ('delete from ledger.checkpoint where checkpoint_no = 2', 'checkpoint'),
    -- Why the newest digest is kept outside.
    ('delete from ledger.checkpoint where checkpoint_no = 3', 'nothing')
) as t (statement, expected);

-- With its own digest made anew, which anybody can.
create function testing.remade(p_no bigint, p_changes jsonb)
    returns text
    language sql
as $fn$
    select format(
        'update ledger.checkpoint as k set (checkpoint_no, made_by, event_count, previous_sha256, '
        'sha256) = (select r.checkpoint_no, r.made_by, r.event_count, r.previous_sha256, '
        'ledger.checkpoint_digest(r) from jsonb_populate_record(k, %L) as r) '
        'where k.class = ''fix'' and k.checkpoint_no = %s', p_changes, p_no)
$fn$;
select is(
    testing.found('ledger.checkpoint', testing.remade(1, '{"made_by": "auditor_2"}')),
    'checkpoint', 'one made anew is not what the next names as the one before'
);
select is(
    testing.found('ledger.checkpoint', testing.remade(3, '{"event_count": 7}')),
    'checkpoint', 'the last one made anew does not cover so many events'
);
select testing.remade(3, jsonb_build_object('previous_sha256', k.sha256)) as third
from ledger.checkpoint as k where k.class = 'fix' and k.checkpoint_no = 1 \gset
select is(
    testing.found('ledger.checkpoint', 'delete from ledger.checkpoint where checkpoint_no = 2 '
                                       'and class = ''fix''; ' || :'third'),
    'checkpoint', 'their numbers have no gap'
);

-- == a tombstone ==================================================================================

select testing.clock_passes('91 days');
select testing.must('admin_1', testing.call('prune', '{"p_class": "fix"}'));
set local session authorization auditor_1;
select is_empty(
    $$ select * from kernel.check(p_class => 'fix') $$, 'finds nothing after a pruning'
);
reset session authorization;
select is(
    (select array_agg(t.target order by t.target) from ledger.tombstone as t),
    array['done', 'gone'],
    'of two campaigns'
);
select is(
    testing.found('ledger.tombstone', t.statement || ' and target = ''done'''), t.expected,
    format('a tombstone: %s', t.statement)
)
from (values
    ('update ledger.tombstone set final_state = ''cancelled'' where true', 'tombstone'),
    ('update ledger.tombstone set pruned_by = ''admin_2'' where true', 'tombstone'),
    ('update ledger.tombstone set event_digests[2] = event_digests[1] where true',
     'checkpoint, tombstone'),
    ('update ledger.tombstone set sha256 = sha256(''mine'') where true', 'tombstone'),
    ('delete from ledger.tombstone where true', 'checkpoint')
) as t (statement, expected);

-- == what it says =================================================================================

select testing.tamper('ledger.campaign', $$
    update ledger.campaign set generation = 7, priority = 0
    where class = 'fix' and target = 'parser' $$);
set local session authorization auditor_1;
select results_eq(
    $$ select * from kernel.check(p_class => 'fix') $$,
    $$ select 'fix'::text, testing.id(), 'campaign'::text,
              'row and events differ in generation, priority'::text $$,
    'says which campaign it is, and in what it differs'
);
reset session authorization;
select testing.tamper('ledger.campaign_event', $$
    delete from ledger.campaign_event
    where class = 'fix' and campaign_id = testing.id() and event_no = 2 $$);
select k.event_count as covered
from ledger.checkpoint as k where k.class = 'fix' and k.checkpoint_no = 1 \gset
set local session authorization auditor_1;
select results_eq(
    $$ select campaign_id, subject, finding
       from kernel.check(p_class => 'fix') where subject in ('event', 'checkpoint') $$,
    format(
        $$ select testing.id(), 'event'::text,
                  'event 3 is claim from ready to leased, generation 1; before it is event 1 to '
                  'ready, generation 0'
           union all
           select null, 'checkpoint',
                  'checkpoint 1 of %s events does not come out again: now there are %s' $$,
        :covered, :covered - 1),
    'which event does not follow, and which checkpoint it was in'
);
reset session authorization;

-- == misuse =======================================================================================

set local session authorization auditor_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    ('select * from kernel.check(p_class => null)', 'KN101', 'a class'),
    ('select * from kernel.check(p_class => ''Fix'')', 'KN102', 'the name of one'),
    ('select * from kernel.check(p_class => ''no-such-class'')', 'KN106', 'one that there is')
) as m (call, code, what);
reset session authorization;

select finish();
rollback;
