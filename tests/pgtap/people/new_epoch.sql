-- kernel.new_epoch begins a new epoch of a class, to be called after a restore.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(66);

select testing.callable_by('kernel.new_epoch', 'admin');

select testing.class('all', '{"promotes": true}');
select testing.open('ready', 'all');
select testing.in_state(s.state)
from unnest(array['confirmed', 'lapsed', 'accepted', 'cancelled', 'parked', 'ready', 'leased',
                  'attempted', 'verifying', 'promoting', 'verified']) as s (state);
create table testing.before as
select s.state as stood, c.*
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting',
                  'verified', 'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state),
     testing.campaign('parser', 'in_' || s.state) as c;
grant select on testing.before to public;

-- == what it writes ===============================================================================

set local session authorization admin_1;
select results_eq(
    format('select * from kernel.new_epoch(p_class => %L, p_token => %L, p_reason => %L)', b.class,
           testing.token('lost'), 'restored'),
    format($$ values ('ok'::text, false, false, 'epoch 1'::text, %L::text, null::bigint,
                      null::bigint, null::text, null::timestamptz, null::text) $$, b.class),
    format('answers ok, with the epoch, where a campaign is %s', b.stood)
)
from testing.before as b;
reset session authorization;
select is(
    (select array_agg(k.epoch) from ledger.class as k where k.class like 'in\_%'),
    array_fill(1, array[11]), 'raises the epoch of the class'
);
select is(
    (select array_agg(k.class order by k.class) from ledger.class as k where k.epoch = 0),
    array['all', 'elsewhere', 'fix', 'ship'], 'and of no other'
);
select row_eq(
    $$ select e.subject, e.by_principal, e.at, e.before, e.after
       from testing.config('new_epoch') as e where e.class = 'in_leased' $$,
    row('in_leased'::text, 'admin_1'::name, testing.clock(), '{"epoch": 0}'::jsonb,
        '{"epoch": 1, "reason": "restored"}'::jsonb),
    'records who began it, and why'
);
select is(
    to_jsonb(testing.campaign('parser', b.class))
        - array['event_count', 'last_transition', 'last_at', 'last_detail', 'last_content_sha256'],
    to_jsonb(b)
        - array['stood', 'event_count', 'last_transition', 'last_at', 'last_detail',
                'last_content_sha256']
        || jsonb_build_object('generation', b.generation + 1000),
    format('adds 1,000 to the generation in %s, and changes nothing else', b.stood)
)
from testing.before as b where b.closed_at is null;
select is(
    to_jsonb(testing.campaign('parser', b.class)), to_jsonb(b) - 'stood',
    format('leaves alone what is %s', b.stood)
)
from testing.before as b where b.closed_at is not null;
select results_eq(
    format($$ select e.event_no, e.transition, e.from_state, e.to_state, e.generation,
                     e.by_principal, e.holder, e.is_late, e.epoch, e.detail
              from testing.event('parser', %L) as e $$, b.class),
    format($$ select b.event_count + 1, 'new_epoch'::text, b.state, b.state, b.generation + 1000,
                     'admin_1'::name, b.lease_principal, false, 1,
                     '{"epoch": 1, "reason": "restored"}'::jsonb
              from testing.before as b where b.class = %L $$, b.class),
    format('writes an event in %s, of the new epoch', b.stood)
)
from testing.before as b where b.closed_at is null;

-- == whoever held one is told =====================================================================

set local session authorization worker_1;
select testing.refused(
    testing.holding(c.function, c.arguments || '{"p_generation": 1}', 'parser', 'in_leased'),
    'stale', format('%s under the old generation is stale', c.function)
)
from (values
    ('submit', '{"p_fingerprint": "f", "p_approach": null, "p_result": {}}'::jsonb),
    ('fail', '{"p_reason": "so"}'), ('release', '{}'), ('renew', '{}'), ('brief', '{}')
) as c (function, arguments);
set local session authorization verifier_1;
select testing.refused(
    testing.judging('{"p_generation": 2}', 'parser', 'in_verifying'), 'stale',
    'so is a judgement'
);
select testing.refused(
    testing.promotion('{"p_generation": 2}', 'parser', 'in_promoting'), 'stale',
    'and a promotion'
);
reset session authorization;
set local session authorization admin_1;
select testing.refused(
    testing.on_campaign('cancel', '{"p_generation": 0}', 'parser', 'in_ready'), 'stale',
    'and what an admin saw before'
);
reset session authorization;

-- == the leases run out and the work goes on ======================================================

select testing.clock_passes('15 minutes');
select testing.must('reaper_1', testing.call('reap', jsonb_build_object('p_class', c.class)))
from unnest(array['in_leased', 'in_verifying', 'in_promoting']) as c (class);
select is(
    format('%s, generation %s', testing.state('parser', c.class),
           testing.generation('parser', c.class)),
    c.expected, format('what was held in %s is taken back', c.class)
)
from (values
    ('in_leased', 'ready, generation 1002'), ('in_verifying', 'attempted, generation 1003'),
    ('in_promoting', 'accepted, generation 1003')
) as c (class, expected);
select testing.must('worker_2', testing.call('claim', jsonb_build_object(
    'p_class', 'in_leased', 'p_token', testing.token('worker_2'))));
select is(
    testing.act('worker_2', testing.holding(
        'submit', jsonb_build_object(
            'p_token', testing.token('worker_2'), 'p_fingerprint', 'patch-2', 'p_approach', 'so',
            'p_result', '{"base": "b", "commit": "c"}'), 'parser', 'in_leased')) ->> 'outcome',
    'ok', 'and worked on anew'
);

-- An observation begun before does not confirm what was verified before.
select testing.verified('seen', 'fix');
select testing.clock_passes('1 day');
select testing.act('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'fix', p_target => 'seen', p_token => testing.token('seen')) $$)
    ->> 'number' as number \gset
select testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
    'p_class', 'fix', 'p_token', testing.token('lost'))));
select is(
    testing.must('sensor_1', format($$ select * from kernel.report_observation(
        p_class => 'fix', p_target => 'seen', p_number => %s, p_token => testing.token('seen'),
        p_is_green => true) $$, :number)) ->> 'note',
    'not_settled', 'an observation begun before confirms nothing'
);

-- == the log goes on after all that was ===========================================================

select is(
    (select array_agg(distinct e.epoch) from ledger.campaign_event as e
     where e.class = 'in_leased' and e.event_no > (select b.event_count from testing.before as b
                                                   where b.class = 'in_leased')),
    array[1], 'every later event is of the new epoch'
);
-- As after a restore, where transactions are numbered anew: those before had higher numbers.
alter table ledger.campaign_event disable trigger user;
update ledger.campaign_event set xid = ((xid::text)::bigint + 1000000)::text::xid8
where class = 'in_leased' and epoch = 0;
alter table ledger.campaign_event enable always trigger campaign_event_10_guard;
alter table ledger.campaign_event enable always trigger campaign_event_20_no_truncate;
set local session authorization auditor_1;
select results_eq(
    $$ select event_no from audit.events where class = 'in_leased'
       order by epoch, xid, campaign_id, event_no $$,
    $$ select e.event_no from audit.events as e where e.class = 'in_leased' order by e.event_no $$,
    'and comes after all earlier ones, also where transactions are numbered anew'
);
reset session authorization;
select is(
    testing.must('admin_1', testing.call('new_epoch', jsonb_build_object(
        'p_class', 'in_leased', 'p_token', testing.token('lost again')))) ->> 'note',
    'epoch 2', 'another token begins another'
);
select is(
    testing.generation('parser', 'in_leased'), 2003::bigint, 'with a thousand more for each'
);
select testing.must('admin_1', testing.call('define_class', '{"p_class": "in_leased"}'));
select is(
    (select k.epoch from ledger.class as k where k.class = 'in_leased'), 2,
    'which no change of the policy takes back'
);

-- == it is begun once =============================================================================

create role admin_2 login;
grant fencepost_admin to admin_2;
set local session authorization admin_1;
select testing.duplicate(
    format('select * from kernel.new_epoch(p_class => %L, p_token => %L, p_reason => %L)',
           'in_leased', testing.token('lost'), r.reason),
    format('repeated it begins none, %s', r.what)
)
from (values ('restored', 'also after the next'), ('so it is said now', 'whatever the reason'))
    as r (reason, what);
select is(
    (select n.note from kernel.new_epoch('in_leased', testing.token('lost')) as n), 'epoch 1',
    'and is told the one that it began'
);
set local session authorization admin_2;
select testing.refused(
    format('select * from kernel.new_epoch(p_class => %L, p_token => %L)', 'in_leased',
           testing.token('lost')),
    'not_holder', 'another admin''s token begins none'
);
reset session authorization;

-- == who may, and misuse ==========================================================================

select testing.refused(
    format('select * from kernel.new_epoch(p_class => %L, p_token => %L)', c.class,
           testing.token('x')), 'forbidden',
    format('is forbidden to a superuser in %s', c.class)
)
from unnest(array['fix', 'no-such-class']) as c (class);
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(m.call, m.code, null, 'wants ' || m.what)
from (values
    ('select * from kernel.new_epoch(null, gen_random_uuid())', 'KN101', 'a class'),
    ('select * from kernel.new_epoch(''fix'', null)', 'KN101', 'a token'),
    ('select * from kernel.new_epoch(''Fix'', gen_random_uuid())', 'KN102', 'the name of one'),
    ('select * from kernel.new_epoch(''no-such-class'', gen_random_uuid())', 'KN106',
     'one that there is'),
    ('select * from kernel.new_epoch(''fix'', gen_random_uuid(), '' '')', 'KN102',
     'a reason that says something'),
    (format('select * from kernel.new_epoch(''fix'', gen_random_uuid(), %L)',
            repeat('x', 4097)), 'KN103', 'one of 4096 bytes at most')
) as m (call, code, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    $$ select * from kernel.new_epoch('fix', gen_random_uuid()) $$, 'KN112', null,
    'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
