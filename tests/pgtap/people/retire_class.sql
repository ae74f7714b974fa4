-- kernel.retire_class takes a class out of use; its history stays.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(31);

select testing.callable_by('kernel.retire_class', 'admin');

create function testing.retiring(p_class text)
    returns text
    language sql
as $fn$
    select testing.call('retire_class', jsonb_build_object('p_class', p_class))
$fn$;

-- == not while a campaign is open =================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
set local session authorization admin_1;
select testing.refused(
    testing.retiring('in_' || s.state), 'illegal', format('refuses with a campaign %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select results_eq(
    format('select campaign_id, generation, state from (%s) as r', testing.retiring('in_leased')),
    $$ select testing.id('parser', 'in_leased'), 1::bigint, 'leased'::text $$,
    'and names a campaign that is open'
);
select is(
    testing.act('admin_1', testing.retiring('in_' || s.state)) ->> 'outcome', 'ok',
    format('is done when all are %s', s.state)
)
from unnest(array['confirmed', 'cancelled', 'lapsed']) as s (state);
reset session authorization;

-- == what it writes ===============================================================================

select testing.cancelled();
select testing.act('sensor_1', $$ select * from kernel.begin_observation(
    p_class => 'fix', p_target => 'parser', p_token => testing.token('begun before')) $$)
    ->> 'number' as number \gset
select testing.clock_passes('1 hour');
set local session authorization admin_1;
select results_eq(
    testing.retiring('fix'),
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok, with the class'
);
reset session authorization;
select is(
    (select c.retired_at from ledger.class as c where c.class = 'fix'), testing.clock(),
    'notes when'
);
set local session authorization admin_1;
select row_eq(
    $$ select e.subject, e.by_principal, e.at, e.before ->> 'retired_at',
              (e.after ->> 'retired_at')::timestamptz
       from testing.config('retire_class') as e where e.class = 'fix' $$,
    row('fix'::text, 'admin_1'::name, testing.clock(), null::text, testing.clock()),
    'records who retired it'
);
select testing.clock_passes('1 hour');
select testing.duplicate(testing.retiring('fix'), 'repeated is a duplicate and writes nothing');

-- == out of use ===================================================================================

select testing.refused(
    $$ select * from kernel.open_campaign(p_class => 'fix', p_target => 'parser',
                                          p_token => testing.token('x')) $$,
    'illegal', 'no admin opens a campaign in it'
);
select testing.refused(
    $$ select * from kernel.define_class(p_class => 'fix', p_policy => '{"attempt_budget": 9}') $$,
    'illegal', 'nor gives it another policy'
);
select testing.refused(
    testing.call('define_target', '{"p_class": "fix", "p_target": "lexer", "p_location": {},
        "p_desired_state": {}, "p_acceptance": {"command": ["true"]}}'),
    'illegal', 'nor a target'
);
set local session authorization sensor_1;
select results_eq(
    format($$ select outcome, moved, note from kernel.report_observation(
                  p_class => 'fix', p_target => 'parser', p_number => %s,
                  p_token => testing.token('begun before'), p_is_green => false) $$, :number),
    $$ values ('ok'::text, false, 'retired'::text) $$, 'a red observation opens nothing'
);
set local session authorization worker_1;
select is_empty(
    $$ select * from kernel.claim(p_class => 'fix', p_token => testing.token('x')) $$,
    'a worker finds nothing there'
);
reset session authorization;
select is(
    (select count(*) from ledger.campaign as c where c.class = 'fix'), 1::bigint,
    'its history stays'
);
select is(
    testing.must('admin_1', testing.call('prune', '{"p_class": "fix"}')) ->> 'outcome', 'ok',
    'and is pruned when its time has come'
);

-- == who may, and misuse ==========================================================================

select testing.refused(testing.retiring('ship'), 'forbidden', 'is forbidden to a superuser');
select testing.refused(testing.retiring('none'), 'forbidden', 'whatever there is');
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(m.call, m.code, m.message, 'wants ' || m.what)
from (values
    (testing.retiring(null), 'KN101', 'argument p_class is null', 'a class'),
    (testing.retiring('Fix'), 'KN102', null, 'the name of one'),
    (testing.retiring('none'), 'KN106', null, 'one that there is')
) as m (call, code, message, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.retiring('ship'), 'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
