-- kernel.retire_target takes a target out of use; its history stays.
\ir ../_support/fixture.psql
\ir ../_support/call.psql
select plan(36);

select testing.callable_by('kernel.retire_target', 'admin');

create function testing.retiring(p_target text, p_class text default 'fix')
    returns text
    language sql
as $fn$
    select testing.call('retire_target',
                        jsonb_build_object('p_class', p_class, 'p_target', p_target))
$fn$;

-- == not while a campaign is open =================================================================

select testing.in_state(s.state)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked', 'confirmed', 'cancelled', 'lapsed']) as s (state);
set local session authorization admin_1;
select testing.refused(
    testing.retiring('parser', 'in_' || s.state), 'illegal', format('refuses in %s', s.state)
)
from unnest(array['ready', 'leased', 'attempted', 'verifying', 'accepted', 'promoting', 'verified',
                  'parked']) as s (state);
select results_eq(
    format('select campaign_id, generation, state from (%s) as r',
           testing.retiring('parser', 'in_leased')),
    $$ select testing.id('parser', 'in_leased'), 1::bigint, 'leased'::text $$,
    'and names the campaign that is open'
);
select is(
    testing.act('admin_1', testing.retiring('parser', 'in_' || s.state)) ->> 'outcome', 'ok',
    format('is done in %s', s.state)
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
    testing.retiring('parser'),
    $$ values ('ok'::text, false, false, null::text, 'fix'::text, null::bigint, null::bigint,
               null::text, null::timestamptz, null::text) $$,
    'answers ok, with the class'
);
select is((testing.target()).retired_at, testing.clock(), 'notes when');
select row_eq(
    $$ select e.class, e.subject, e.by_principal, e.at, e.before ->> 'retired_at',
              (e.after ->> 'retired_at')::timestamptz
       from testing.config('retire_target') as e where e.class = 'fix' $$,
    row('fix'::text, 'parser'::text, 'admin_1'::name, testing.clock(), null::text,
        testing.clock()),
    'records who retired it'
);
select testing.clock_passes('1 hour');
select testing.duplicate(testing.retiring('parser'), 'repeated is a duplicate and writes nothing');
reset session authorization;

-- == out of use ===================================================================================

set local session authorization admin_1;
select testing.refused(
    $$ select * from kernel.open_campaign(p_class => 'fix', p_target => 'parser',
                                          p_token => testing.token('x')) $$,
    'illegal', 'no admin opens a campaign there'
);
select testing.refused(
    testing.call('define_target', '{"p_class": "fix", "p_target": "parser", "p_location": {},
        "p_desired_state": {}, "p_acceptance": {"command": ["true"]}}'),
    'illegal', 'nor defines it anew'
);
set local session authorization sensor_1;
select testing.refused(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('begun after')) $$,
    'illegal', 'no sensor begins to observe it'
);
select testing.duplicate(
    $$ select * from kernel.begin_observation(p_class => 'fix', p_target => 'parser',
                                              p_token => testing.token('begun before')) $$,
    'what was begun before is returned'
);
select results_eq(
    format($$ select outcome, moved, note from kernel.report_observation(
                  p_class => 'fix', p_target => 'parser', p_number => %s,
                  p_token => testing.token('begun before'), p_is_green => false) $$, :number),
    $$ values ('ok'::text, false, 'retired'::text) $$,
    'and reported: that is recorded, and opens nothing'
);
select is(
    kernel.next_due('fix'), null, 'no sensor is told that its slot is due, which would be for ever'
);
reset session authorization;
select testing.target_in('lexer', 'fix');
set local session authorization sensor_1;
select is(kernel.next_due('fix'), testing.clock(), 'as it is of a target in use');
reset session authorization;
select is(
    (select count(*) from ledger.campaign as c where c.class = 'fix' and c.target = 'parser'),
    1::bigint, 'its history stays'
);

-- == who may, and misuse ==========================================================================

select testing.refused(testing.retiring('lexer'), 'forbidden', 'is forbidden to a superuser');
select testing.refused(testing.retiring('none'), 'forbidden', 'whatever there is');
select testing.ledger_digest(true) as before \gset
set local session authorization admin_1;
select testing.raises(m.call, m.code, m.message, 'wants ' || m.what)
from (values
    (testing.call('retire_target', '{"p_class": null, "p_target": "lexer"}'), 'KN101',
     'argument p_class is null', 'a class'),
    (testing.call('retire_target', '{"p_class": "fix", "p_target": null}'), 'KN101',
     'argument p_target is null', 'a target'),
    (testing.retiring('lexer', 'Fix'), 'KN102', null, 'the name of a class'),
    (testing.retiring('lexer', 'none'), 'KN106', null, 'a class that there is'),
    (testing.retiring('none'), 'KN107', null, 'a target that it has'),
    (testing.retiring(' '), 'KN102', 'argument p_target is empty', 'a target''s name'),
    (testing.retiring(repeat('x', 201)), 'KN103', 'argument p_target is too long',
     'a name of at most 200 bytes')
) as m (call, code, message, what);
select is(testing.ledger_digest(true), :'before', 'has written nothing');
select set_config('transaction_read_only', 'on', true);
select testing.raises(
    testing.retiring('lexer'), 'KN112', null, 'wants a transaction that may write'
);
reset session authorization;

select finish();
rollback;
