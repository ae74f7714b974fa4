-- kernel.prune removes what closed long ago, and leaves a tombstone.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
\ir ../_support/log.psql
select plan(78);

select testing.callable_by('kernel.prune', 'admin');

create function testing.pruned(p_class text default 'fix', p_limit integer default 1000)
    returns text
    language sql
as $fn$
    select testing.must('admin_1', testing.call('prune', jsonb_build_object(
        'p_class', p_class, 'p_limit', p_limit))) ->> 'note'
$fn$;

create function testing.rows_of(p_campaign_id bigint, p_class text default 'fix')
    returns text
    language sql
    security definer
as $fn$
    select format('%s campaigns, %s events, %s attempts, %s verdicts, %s bundles, %s allowances',
        (select count(*) from ledger.campaign as x
         where x.class = p_class and x.campaign_id = p_campaign_id),
        (select count(*) from ledger.campaign_event as x
         where x.class = p_class and x.campaign_id = p_campaign_id),
        (select count(*) from ledger.attempt as x
         where x.class = p_class and x.campaign_id = p_campaign_id),
        (select count(*) from ledger.verdict as x
         where x.class = p_class and x.campaign_id = p_campaign_id),
        (select count(*) from ledger.bundle as x
         where x.class = p_class and x.campaign_id = p_campaign_id),
        (select count(*) from ledger.allowance as x
         where x.class = p_class and x.campaign_id = p_campaign_id))
$fn$;

create function testing.targets_of(p_class text)
    returns text
    language sql
    security definer
as $fn$
    select string_agg(c.target, ', ' order by c.campaign_id)
    from ledger.campaign as c where c.class = p_class
$fn$;

-- == retention ====================================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select is(testing.pruned(), '0 campaigns, 0 observations, 0 refusals', 'nothing is there to prune');
select testing.clock_is('2026-10-01 03:00+00');
select testing.confirmed('done');
select testing.must('admin_1', testing.call('define_target', '{"p_class": "fix",
    "p_target": "rejected once", "p_location": {}, "p_desired_state": {},
    "p_acceptance": {"command": ["true"]}}'));
select testing.verifying('rejected once');
select testing.judge('rejected', 'rejected once');
select testing.must('admin_1', testing.on_campaign(
    'allow_repeat', '{"p_fingerprint": "patch-1", "p_reason": "why not"}', 'rejected once'));
select testing.must('admin_1', testing.on_campaign(
    'cancel', '{"p_reason": "never mind"}', 'rejected once'));
select testing.lapsed('lapsed');
select testing.id('done') as done, testing.id('rejected once') as rejected,
       testing.id('lapsed') as lapsed \gset
select is(
    testing.rows_of(:rejected),
    '1 campaigns, 7 events, 1 attempts, 1 verdicts, 1 bundles, 1 allowances',
    'a campaign has rows of every kind'
);
select testing.clock_is((testing.campaign('done')).closed_at + interval '90 days'
                        - interval '1 second');
select is(
    testing.pruned(), '0 campaigns, 0 observations, 0 refusals',
    'nothing goes before the class''s retention is over'
);
select testing.as_if_committed_each();
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
select testing.clock_passes('1 second');
select testing.campaign('done') as before \gset
set local session authorization admin_1;
select results_eq(
    $$ select * from kernel.prune(p_class => 'fix') $$,
    $$ values ('ok'::text, false, false, '2 campaigns, 3 observations, 0 refusals'::text,
               'fix'::text, null::bigint, null::bigint, null::text, null::timestamptz,
               null::text) $$,
    'answers ok, with how many have gone: campaigns that closed by then, and what moved them'
);
reset session authorization;
select is(
    testing.rows_of(r.id),
    '0 campaigns, 0 events, 0 attempts, 0 verdicts, 0 bundles, 0 allowances',
    'nothing is left of ' || r.what
)
from (values (:done, 'one that was confirmed'), (:rejected, 'one that was cancelled'))
    as r (id, what);
select is(testing.state('lapsed'), 'lapsed', 'what closed later stays');
select is(
    testing.state('parser', 'in_' || s.state), s.state,
    format('what is %s stays, however old', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state),
    (select testing.pruned('in_' || x.state) as note
     from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting',
                       'verified', 'parked']) as x (state)) as p
where p.note is not null
group by s.state;

-- == the tombstone ================================================================================

select row_eq(
    $$ select t.target, t.final_state, t.generation, t.attempt_count, t.event_count, t.opened_at,
              t.closed_at, t.human_acts_at, t.pruned_at, t.pruned_by,
              t.pruned_xid = pg_current_xact_id()
       from ledger.tombstone as t where t.target = 'done' $$,
    row('done'::text, 'confirmed'::text, (:'before'::ledger.campaign).generation, 1,
        (:'before'::ledger.campaign).event_count, (:'before'::ledger.campaign).opened_at,
        (:'before'::ledger.campaign).closed_at, '{}'::timestamptz[], testing.clock(),
        'admin_1'::name, true),
    'how it ended, and what it counted, stands on its tombstone'
);
select is(
    (select cardinality(t.human_acts_at) from ledger.tombstone as t
     where t.target = 'rejected once'),
    2, 'and when admins acted on it'
);
select is(
    (select format('%s %s %s', cardinality(t.event_epochs), cardinality(t.event_xids),
                   cardinality(t.event_digests))
     from ledger.tombstone as t where t.target = 'done'),
    '6 6 6', 'with the place and the digest of every event'
);
set local session authorization auditor_1;
select is_empty(
    $$ select * from kernel.check(p_class => 'fix') $$,
    'checkpoints from before still come out, and nothing is missed'
);
reset session authorization;
select testing.must('auditor_1', testing.call('checkpoint', '{"p_class": "fix"}'));
set local session authorization auditor_1;
select is_empty($$ select * from kernel.check(p_class => 'fix') $$, 'and those from after');
reset session authorization;
select is(
    testing.pruned(), '0 campaigns, 0 observations, 0 refusals', 'called again it finds none'
);

-- What was pruned leaves a target as it would be without: it opens and inherits nothing.
select testing.open('done');
select is(
    (testing.campaign('done')).previous_campaign_id, null, 'its target opens another campaign'
);

-- == whom another inherits from ===================================================================

select testing.class('line', '{"retention": "30 days", "reopen_within": "1 day"}');
select testing.clock_is('2027-01-01 03:00+00');
select testing.leased('parser', 'line');
select testing.must('worker_1', testing.holding(
    'fail', '{"p_reason": "so", "p_fingerprint": "patch-1"}', 'parser', 'line'));
select testing.cancel('parser', 'line');
select testing.open('parser', 'line');
select testing.cancel('parser', 'line');
select testing.open('parser', 'line');
select testing.clock_passes('60 days');
select is(
    testing.pruned('line'), '0 campaigns, 0 observations, 0 refusals',
    'a campaign from which an open one inherits stays'
);
select testing.claim('parser', 'line');
set local session authorization worker_1;
select testing.as_if_committed();
select is(
    (select b.refused_fingerprints from kernel.brief(
         p_class => 'line', p_campaign_id => testing.id('parser', 'line'),
         p_generation => testing.generation('parser', 'line'),
         p_token => testing.token('worker_1')) as b),
    array['patch-1'], 'with what it tried in vain'
);
reset session authorization;
select testing.cancel('parser', 'line');
select testing.clock_passes('30 days');
select is(
    testing.pruned('line'), '1 campaigns, 1 observations, 0 refusals', 'the newest goes first'
);
select is(
    testing.pruned('line'), '1 campaigns, 1 observations, 0 refusals', 'then the one before'
);
select is(
    testing.pruned('line'), '1 campaigns, 1 observations, 0 refusals', 'and the first'
);
select is(testing.targets_of('line'), null, 'until none is left');

-- == so many at once ==============================================================================

select testing.class('many', '{"retention": "0", "reopen_within": "0"}');
select testing.cancelled(t, 'many') from unnest(array['a', 'b', 'c', 'd']) as t;
select is(
    testing.pruned('many', 3), '3 campaigns, 3 observations, 0 refusals',
    'no more than were asked for, the oldest first'
);
select is(testing.targets_of('many'), 'd', 'leave the rest');
select is(
    testing.pruned('many', 1), '1 campaigns, 1 observations, 0 refusals',
    'each kind by itself'
);

-- == observations =================================================================================

select testing.class('seen', '{"retention": "30 days"}');
select testing.clock_is('2027-06-01 03:00+00');
select testing.target_in('parser', 'seen');
select testing.observed(true, 'parser', 'seen');
select testing.must('sensor_1', testing.call('begin_observation', '{"p_class": "seen",
    "p_target": "parser", "p_token": "00000000-0000-0000-0000-000000000001"}'));
select testing.clock_passes('1 day');
select testing.open('parser', 'seen');
select testing.clock_passes('1 day');
select testing.observed(false, 'parser', 'seen');
select testing.clock_passes('27 days 23:59:59');
select is(
    testing.pruned('seen'), '0 campaigns, 0 observations, 0 refusals',
    'an observation stays as long as a campaign would'
);
select testing.clock_passes('1 second');
select is(
    testing.pruned('seen'), '0 campaigns, 2 observations, 0 refusals',
    'then it goes, reported or not'
);
select testing.clock_passes('2 days');
select is(
    testing.pruned('seen'), '0 campaigns, 1 observations, 0 refusals',
    'save for the one that opened a campaign which is there'
);
select is(
    (select array_agg(o.observation_no) from ledger.observation as o where o.class = 'seen'),
    array[3::bigint], 'which is kept with it'
);
set local session authorization worker_1;
select testing.must('worker_1', $$ select * from kernel.claim(
    p_class => 'seen', p_token => testing.token('worker_1')) $$);
select is(
    (select b.observation ->> 'number' from kernel.brief(
         p_class => 'seen', p_campaign_id => testing.id('parser', 'seen'),
         p_generation => testing.generation('parser', 'seen'),
         p_token => testing.token('worker_1')) as b),
    '3', 'and shown to who works on it'
);
reset session authorization;
-- What contradicted a campaign is of its history too.
select testing.submit('parser', 'seen');
select testing.claim_verification('parser', 'seen');
select testing.judge('accepted', 'parser', 'seen');
select testing.clock_passes('1 day');
select is(testing.observed(false, 'parser', 'seen') ->> 'note', 'contradict', 'contradicted');
select testing.clock_passes('60 days');
select testing.pruned('seen');
select is(
    (select array_agg(o.note order by o.observation_no) from ledger.observation as o
     where o.class = 'seen'),
    array['open', 'contradict'], 'what moved an open campaign is kept, however long it is open'
);
select is(
    testing.must('sensor_1', testing.call('begin_observation', '{"p_class": "seen",
        "p_target": "parser", "p_token": "00000000-0000-0000-0000-000000000002"}')) ->> 'number',
    '6', 'numbers are never given twice'
);

-- == refusals =====================================================================================

select testing.class('refused', '{"retention": "1 day", "refusal_retention": "30 days"}');
select testing.clock_is('2027-12-01 03:00+00');
select testing.act('worker_elsewhere', $$ select * from kernel.claim(
    p_class => 'refused', p_token => testing.token('x')) $$) ->> 'outcome' as outcome_1;
select testing.clock_passes('1 day');
select testing.act('worker_elsewhere', $$ select * from kernel.claim(
    p_class => 'refused', p_token => testing.token('x')) $$) ->> 'outcome' as outcome_2;
select testing.clock_passes('29 days');
select is(
    testing.pruned('refused'), '0 campaigns, 0 observations, 1 refusals',
    'refusals go after refusal_retention'
);
select is(
    (select array_agg(r.refused_at) from ledger.refusal as r where r.class = 'refused'),
    array['2027-12-02 03:00+00'::timestamptz], 'and not before'
);
select is(
    testing.pruned('fix'), '1 campaigns, 2 observations, 0 refusals', 'each class by itself'
);

-- == by hand ======================================================================================

-- A campaign that closed long ago, one that closed just now, and one that is open.
select testing.class('hand', '{"retention": "30 days"}');
select testing.clock_is('2028-01-01 03:00+00');
select testing.confirmed('old', 'hand');
select testing.clock_passes('60 days');
select testing.confirmed('new', 'hand');
select testing.verifying('open', 'hand');
select testing.id('old', 'hand') as old, testing.id('new', 'hand') as new,
       testing.id('open', 'hand') as open \gset

create function testing.by_hand(p_who text) returns setof text language plpgsql as $fn$
begin
    return query select testing.raises(
        s.statement, s.code, null,
        format('without a tombstone %s is refused: %s', p_who, s.statement)
    )
    from (values
        ('delete from ledger.campaign where class = ''hand''', 'KN901'),
        ('delete from ledger.campaign_event where class = ''hand''', 'KN902'),
        ('delete from ledger.attempt where class = ''hand''', 'KN902'),
        ('delete from ledger.verdict where class = ''hand''', 'KN902'),
        ('delete from ledger.bundle where class = ''hand''', 'KN902'),
        ('delete from ledger.observation where class = ''hand'' and target = ''old''', 'KN902'),
        ('insert into ledger.tombstone (class, campaign_id) select c.class, c.campaign_id '
         'from ledger.campaign as c where c.class = ''hand'' and c.target = ''old''', 'KN901')
    ) as s (statement, code);
end
$fn$;
select testing.by_hand('a superuser');
set local session authorization fencepost_owner;
select testing.by_hand('the owner');
reset session authorization;

-- Not even an admin who could write there, which no admin can.
grant usage on schema ledger to admin_1;
grant select, insert, delete, update on all tables in schema ledger to admin_1;
set local session authorization admin_1;
select testing.raises(
    format('insert into ledger.tombstone (class, campaign_id) values (%L, %s)', 'hand', t.id),
    'KN901', 'no tombstone is set', 'no tombstone is set for ' || t.what
)
from (values (:new, 'what closed just now'), (:open, 'what is open'), (99999999, 'what is not'))
    as t (id, what);
select testing.raises(
    'delete from ledger.campaign where class = ''hand'' and target = ''old''', 'KN901', null,
    'nothing is deleted without one'
);
-- Whatever is to be written on a tombstone, it says what stands in the ledger.
insert into ledger.tombstone
select (jsonb_populate_record(null::ledger.tombstone, jsonb_build_object(
    'class', 'hand', 'campaign_id', :old, 'target', 'another', 'final_state', 'cancelled',
    'event_count', 1, 'human_acts_at', '[]'::jsonb, 'event_epochs', '[1]'::jsonb,
    'event_xids', '["1"]'::jsonb, 'event_digests', '["\\x01"]'::jsonb, 'sha256', '\x01',
    'pruned_by', 'nobody', 'pruned_at', '2000-01-01', 'opened_at', '2000-01-01',
    'closed_at', '2000-01-01', 'generation', 0, 'attempt_count', 0, 'pruned_xid', '1'))).*;
reset session authorization;
select row_eq(
    $$ select t.target, t.final_state, t.event_count, t.attempt_count, t.pruned_by, t.pruned_at,
              t.closed_at, t.sha256 = ledger.tombstone_digest(t)
       from ledger.tombstone as t where t.class = 'hand' $$,
    row('old'::text, 'confirmed'::text, 6::bigint, 1, 'admin_1'::name, testing.clock(),
        (testing.campaign('old', 'hand')).closed_at, true),
    'a tombstone says what stands in the ledger, whatever was to be written on it'
);
select testing.raises(
    s.statement, s.code, null, 'the tombstone of one is none for another: ' || s.statement
)
from (values
    ('delete from ledger.campaign_event where class = ''hand'' and campaign_id = '
     || :open, 'KN902'),
    ('delete from ledger.verdict where class = ''hand'' and campaign_id = ' || :new, 'KN902')
) as s (statement, code);
select testing.raises(s.statement, 'KN902', null, 'a tombstone stays: ' || s.statement)
from (values ('update ledger.tombstone set target = target'), ('delete from ledger.tombstone'),
             ('truncate ledger.tombstone')) as s (statement);
-- Its transaction over, nothing more goes under it.
select testing.tamper('ledger.tombstone', 'update ledger.tombstone set pruned_xid = ''3''');
select testing.raises(
    'delete from ledger.campaign_event where class = ''hand'' and campaign_id = ' || :old,
    'KN902', null, 'one of another transaction does not do'
);

-- == who may, and misuse ==========================================================================

select testing.refused(
    format('select * from kernel.prune(p_class => %L)', c.class), 'forbidden',
    format('is forbidden to a superuser in %s', c.class)
)
from unnest(array['fix', 'no-such-class']) as c (class);
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    ('select * from kernel.prune(p_class => null)', 'KN101', 'a class'),
    ('select * from kernel.prune(p_class => ''Fix'')', 'KN102', 'the name of one'),
    ('select * from kernel.prune(p_class => ''no-such-class'')', 'KN106', 'one that there is'),
    ('select * from kernel.prune(p_class => ''fix'', p_limit => null)', 'KN101', 'a limit'),
    ('select * from kernel.prune(p_class => ''fix'', p_limit => 0)', 'KN104', 'one of at least 1'),
    ('select * from kernel.prune(p_class => ''fix'', p_limit => 100001)', 'KN104',
     'and of at most 100000')
) as m (call, code, what);
reset session authorization;
select is(testing.ledger_digest(true), :'before', 'has written nothing');
set local session authorization admin_1;
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.prune(p_class => 'fix') $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
